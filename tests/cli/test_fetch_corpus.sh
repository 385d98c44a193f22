# fetch_corpus.sh without a network: whatever goes wrong, nothing is left half done.
# shellcheck shell=sh
. tests/cli/lib.sh

root=$work/root
bin=$work/bin
mkdir -p "$root" "$bin"
cp -R scripts "$root/scripts"
corpora=$root/data/corpora

fake() { # NAME SHELL-CODE
    printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}
fetch() {
    run env PATH="$bin:$PATH" "$root/scripts/fetch_corpus.sh"
}
nothing_left() {
    [ -z "$(find "$corpora" -mindepth 1)" ] || {
        find "$corpora" -mindepth 1 | head
        return 1
    }
}

fake npm 'exit 1'
fake git 'exit 128'
fetch
check "without a network: 3 and one line that says so" said 3 'could not be fetched: no network?'
check "without a network: nothing left" nothing_left

# The archive's name and a damaged content, where npm would put it.
put='while [ "$1" != --pack-destination ]; do shift; done
echo damaged >"$2/chinese-poetry-2.0.1.tgz"'
fake npm "$put"
fetch
check "a wrong digest is refused" said 1 'expected SHA-512 2ad60046.*found '
check "a wrong digest: nothing left" nothing_left

run env CORPUS_ARCHIVE="$work/absent.tgz" "$root/scripts/fetch_corpus.sh"
check "an archive that is not there" said 1 'absent.tgz'
check "an archive that is not there: nothing left" nothing_left

fake npm "$put
kill -TERM \$PPID
sleep 1"
fetch
check "a fetch that is stopped fails" [ "$code" -ne 0 ]
check "a fetch that is stopped: nothing left" nothing_left

# A clone with other content.
fake npm 'exit 1'
fake git 'for last; do :; done
for folder in 楚辞 御定全唐詩 四书五经 论语 全唐诗 纳兰性德 元曲 水墨唐诗 曹操诗集 宋词 蒙学 诗经 五代诗词 幽梦影 rank strains; do
    mkdir -p "$last/$folder" && echo "[]" >"$last/$folder/x.json"
done
: >"$last/LICENSE"'
fetch
check "another version in Git is refused" said 1 'no longer hold version'
check "another version in Git: nothing left" nothing_left

# What is there but not complete is fetched again, and kept when that fails.
fake git 'exit 128'
mkdir -p "$corpora/chinese-poetry/dist"
echo '[]' >"$corpora/chinese-poetry/dist/x.json"
echo a7dc00806433103929e05d930b1d6e9c5718b732ec0d1f47b26b5ac0041b54b8 >"$corpora/chinese-poetry/SHA256"
fetch
check "an incomplete folder does not count as there" said 3 'could not be fetched'
check "it is still what it was" [ -f "$corpora/chinese-poetry/dist/x.json" ]

# Complete by stamp and number of files: silent, and npm is never called.
i=1
while [ $i -lt 2245 ]; do
    : >"$corpora/chinese-poetry/dist/$i.json"
    i=$((i + 1))
done
fake npm 'echo npm was called >&2; exit 1'
fetch
check "already there: silent" silent

finish
