# deps.sh with package managers that only write down what they were asked for.
#
# PATH holds nothing but what is linked into $work/bin, so what is "missing" is decided
# here and not by the machine.
# shellcheck shell=sh
. tests/cli/lib.sh

bin=$work/bin
mkdir "$bin"
for tool in sh env id mktemp rm cat tail dirname grep sed head; do
    ln -s "$(command -v $tool)" "$bin/$tool"
done

fake() { # NAME SHELL-CODE
    rm -f "$bin/$1"
    printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

deps() {
    : >"$work/asked"
    run env PATH="$bin" CC=cc FAKE_BIN="$bin" ASKED="$work/asked" NO_INSTALL="${no_install:-0}" \
        sh scripts/deps.sh "$@"
}

asked() { # PATTERN
    grep -q -e "$1" "$work/asked" || {
        echo "expected '$1' in:"
        cat "$work/asked" "$work/err"
        return 1
    }
}

# Installing adds the tools of the lint group.
install='echo "$@" >>"$ASKED"
for tool in clang-format clang-tidy cppcheck shellcheck; do
    printf "#!/bin/sh\n" >"$FAKE_BIN/$tool"; /bin/chmod +x "$FAKE_BIN/$tool"
done'
forget() {
    rm -f "$bin/clang-format" "$bin/clang-tidy" "$bin/cppcheck" "$bin/shellcheck"
}

fake id 'echo 0'
deps lint
check "no package manager: says so" said 1 'No known package manager'

fake apt-get "$install"
deps lint
check "apt installs" said 0 'installing clang-format clang-tidy cppcheck shellcheck'
check "apt is not asked questions" asked '-y --no-install-recommends clang-format'
deps lint
check "nothing missing: silent" silent
check "nothing missing: nothing asked" [ ! -s "$work/asked" ]

forget
deps --check lint
check "--check names the remedy" said 1 'missing: clang-format.*Run scripts/deps.sh lint'
check "--check installs nothing" [ ! -s "$work/asked" ]
no_install=1
deps lint
check "NO_INSTALL=1 prints the command" said 1 'apt-get install -y.*clang-format'
check "NO_INSTALL=1 installs nothing" [ ! -s "$work/asked" ]
no_install=0

fake apt-get 'echo "$@" >>"$ASKED"; echo "E: no space" >&2; exit 100'
deps lint
check "a failing manager: its words and ours" said 1 'could not install clang-format'
check "a failing manager: its own words" said 1 'E: no space'
check "the package lists were read once more" asked 'update'

fake apt-get "case \"\$*\" in *update*) : >\"\$FAKE_BIN/updated\" ;; *) [ -e \"\$FAKE_BIN/updated\" ] || exit 100; $install ;; esac"
deps lint
check "old package lists are read again" said 0 'reading the package lists'

forget
fake apt-get 'echo "$@" >>"$ASKED"'
deps lint
check "an install that brought nothing is noticed" said 1 'still missing: clang-format'

fake id 'echo 1000'
fake apt-get "$install"
deps lint
check "neither root nor sudo: says what to run" said 1 'As root, run: apt-get install'
fake sudo 'echo sudo >>"$ASKED"; exec "$@"'
deps lint
check "through sudo" said 0 'installing'
check "sudo was used" asked '^sudo$'
rm "$bin/apt-get" "$bin/sudo"

fake id 'echo 0'
for manager in dnf pacman brew; do
    forget
    fake $manager "$install"
    deps lint
    check "$manager installs" said 0 'installing'
    check "$manager is asked" asked 'cppcheck'
    no_install=1
    deps build
    check "$manager knows jansson" said 1 'jansson'
    check "$manager knows utf8proc" said 1 'Install with: .*utf8proc'
    deps mpi
    check "$manager knows Open MPI" said 1 'Install with: .*open-*mpi'
    no_install=0
    rm "$bin/$manager"
done

deps nonsense
check "an unknown group" said 1 "unknown group 'nonsense'"
deps
check "no group" said 1 'expected groups'

finish
