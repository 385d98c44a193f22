#!/bin/sh
# Fetches the poems: npm package chinese-poetry, one version, to data/corpora/chinese-poetry.
#
#   scripts/fetch_corpus.sh                 CORPUS_ARCHIVE=FILE.tgz takes a file, no network
#
# Silent when they are there. Exit 0: there; 3: could not be fetched, and nothing changed
# (no network); 1: what came is not what was expected, or could not be unpacked. All work is
# done in a temporary folder that is renamed at the end, so nothing is ever half there.
#
# Ways, in order: npm; the project's Git repositories; npm once more, after installing it.
# The archive is held against its published SHA-512, a Git tree against the SHA-256 of
# the list of its files' SHA-256: both hold the same bytes in the end.
set -eu
cd "$(dirname "$0")/.."

version=2.0.1
archive_sha512=2ad60046f57b09636d6b1d276bdf899fa3e5846812a2277b3d6c83cd72382ac0849b6a1d65ca84432bda97992868bca066733f110de57c9fffdb92bca77b8736
content_sha256=a7dc00806433103929e05d930b1d6e9c5718b732ec0d1f47b26b5ac0041b54b8
file_count=2245
megabytes=450

parent=data/corpora
target=$parent/chinese-poetry
stamp=$target/SHA256

say() {
    echo "fetch: $*" >&2
}

has() {
    command -v "$1" >/dev/null 2>&1
}

sha() { # BITS FILE...
    bits=$1
    shift
    if has "sha${bits}sum"; then
        "sha${bits}sum" "$@"
    else
        shasum -a "$bits" "$@"
    fi
}

json_files() { # FOLDER, in an order that depends on nothing but the names
    (cd "$1" && find . -type f -name '*.json' | LC_ALL=C sort)
}

is_complete() {
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$content_sha256" ] &&
        [ "$(json_files "$target/dist" | wc -l)" -eq $file_count ]
}

# Stops a command that hangs, where the system has timeout(1).
within() { # SECONDS COMMAND...
    if has timeout; then
        timeout "$@"
    else
        shift
        "$@"
    fi
}

check_archive() { # FILE
    found=$(sha 512 "$1" | cut -d ' ' -f 1)
    if [ "$found" != $archive_sha512 ]; then
        say "$1: expected SHA-512 $archive_sha512, found $found"
        return 1
    fi
}

unpack() { # FILE
    tar -xzf "$1" -C "$work" package/dist package/LICENSE &&
        mv "$work/package" "$work/new"
}

by_npm() {
    within 900 npm pack "chinese-poetry@$version" --ignore-scripts --silent \
        --fetch-retries=1 --fetch-retry-mintimeout=1000 --pack-destination "$work" \
        >/dev/null 2>"$work/log" </dev/null || return 3
    archive=$work/chinese-poetry-$version.tgz
    [ -f "$archive" ] || return 3
    check_archive "$archive" && unpack "$archive"
}

clone() { # URL [OPTION...]
    rm -rf "$work/git"
    url=$1
    shift
    GIT_TERMINAL_PROMPT=0 within 900 git -c http.lowSpeedLimit=1000 \
        -c http.lowSpeedTime=30 clone --quiet --depth 1 "$@" "$url" "$work/git" \
        >/dev/null 2>>"$work/log" </dev/null
}

# The package is made from the poems' own repository, which it holds as a submodule, by
# copying the JSON files of these folders under new names.
copy_tree() { # FOLDER
    rm -rf "$work/new"
    mkdir "$work/new"
    while read -r from to; do
        [ -d "$1/$from" ] || return 1
        (cd "$1/$from" && find . -type f -name '*.json' ! -name '*.simplified.json') |
            while read -r file; do
                mkdir -p "$work/new/dist/$to/$(dirname "$file")" &&
                    cp "$1/$from/$file" "$work/new/dist/$to/$file" || exit 1
            done || return 1
    done <<'FOLDERS'
楚辞 chuci
御定全唐詩 yudingquantangshi
四书五经 sishuwujing
论语 lunyu
全唐诗 quantangshi
纳兰性德 nalanxingde
元曲 yuanqu
水墨唐诗 shuimotangshi
曹操诗集 caocaoshiji
宋词 songci
蒙学 mengxue
诗经 shijing
五代诗词 wudaishici
幽梦影 youmengying
rank rank
strains strains
FOLDERS
    cp "$1/LICENSE" "$work/new/LICENSE"
}

content_digest() { # FOLDER
    (cd "$1" && json_files . | tr '\n' '\0' | xargs -0 sh -c '
        if command -v sha256sum >/dev/null 2>&1; then sha256sum "$@"; else shasum -a 256 "$@"; fi
        ' sha256) | sha 256 - | cut -d ' ' -f 1
}

by_git() {
    has git || return 3
    : >"$work/log"
    came=3
    if clone https://github.com/chinese-poetry/chinese-poetry-npm.git --branch "v$version" \
        --recurse-submodules --shallow-submodules; then
        came=1
        copy_tree "$work/git/chinese-poetry" &&
            [ "$(content_digest "$work/new/dist")" = $content_sha256 ] && return 0
    fi
    if clone https://github.com/chinese-poetry/chinese-poetry.git; then
        came=1
        copy_tree "$work/git" &&
            [ "$(content_digest "$work/new/dist")" = $content_sha256 ] && return 0
    fi
    [ $came -eq 3 ] || say "the Git repositories no longer hold version $version (SHA-256 of the files' list: $content_sha256)"
    return $came
}

finish() {
    found=$(content_digest "$work/new/dist")
    if [ "$found" != $content_sha256 ]; then
        say "unpacked files: expected SHA-256 $content_sha256, found $found"
        exit 1
    fi
    echo "$found" >"$work/new/SHA256"
    # Whoever comes second (another fetch at the same time) finds it complete.
    if ! is_complete; then
        [ ! -e "$target" ] || mv "$target" "$work/old"
        mv "$work/new" "$target"
    fi
    say "chinese-poetry $version is in $target"
}

! is_complete || exit 0

mkdir -p "$parent"
# What a killed fetch left behind.
find "$parent" -maxdepth 1 -name '.fetch.*' -mmin +60 -exec rm -rf {} +
work=$(mktemp -d "$PWD/$parent/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

free=$(df -Pm "$parent" | awk 'NR == 2 { print $4 }')
if [ "${free:-$megabytes}" -lt $megabytes ]; then
    say "$parent: expected $megabytes MB of free space, found $free MB"
    exit 1
fi

if [ -n "${CORPUS_ARCHIVE:-}" ]; then
    check_archive "$CORPUS_ARCHIVE" || exit 1
    unpack "$CORPUS_ARCHIVE" || exit 1
    finish
    exit 0
fi

code=3
if has npm; then
    say "chinese-poetry $version (85 MB) by npm"
    by_npm && code=0 || code=$?
fi
if [ $code -eq 3 ]; then
    say "chinese-poetry $version from its Git repository"
    by_git && code=0 || code=$?
fi
if [ $code -eq 3 ] && ! has npm && scripts/deps.sh corpus; then
    say "chinese-poetry $version (85 MB) by npm"
    by_npm && code=0 || code=$?
fi
if [ $code -eq 3 ]; then
    say "chinese-poetry $version could not be fetched: no network?"
    exit 3
fi
[ $code -eq 0 ] || exit 1
finish
