#!/bin/sh
# Looks for mistakes and untidiness without changing anything: clang-format, cppcheck,
# clang-tidy (.clang-tidy), shellcheck, the direction of includes.
#
# A tool that is not there is named and passed over, except in CI (CI=1): there it fails.
set -u
cd "$(dirname "$0")/.." || exit 1

failed=0

step() { # NAME COMMAND...
    name=$1
    shift
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "  --    $name: $1 is not installed (scripts/deps.sh lint)"
        [ "${CI:-0}" = 0 ] || failed=1
    elif "$@"; then
        echo "  ok    $name"
    else
        echo "  FAIL  $name"
        failed=1
    fi
}

sources() {
    git ls-files -co --exclude-standard -- "$@" | while read -r file; do
        [ ! -f "$file" ] || echo "$file"
    done
}

tidy() {
    packages="jansson libutf8proc libxxhash opencc"
    for folder in /usr/lib/*/openblas-openmp/pkgconfig; do
        [ ! -d "$folder" ] || PKG_CONFIG_PATH=$folder:${PKG_CONFIG_PATH:-}
    done
    export PKG_CONFIG_PATH
    # shellcheck disable=SC2086 # lists of words
    flags=$(pkg-config --cflags $packages openblas) || return 1
    MPI_FLAGS=$(mpicc --showme:compile 2>/dev/null) || MPI_FLAGS=
    export MPI_FLAGS
    # shellcheck disable=SC2046,SC2086
    sources 'model/*.c' 'data/*.c' 'train/*.c' 'scripts/*.c' |
        if [ -n "$MPI_FLAGS" ]; then cat; else grep -v train/dist_mpi.c; fi |
        xargs -n 1 -P "$(nproc 2>/dev/null || echo 2)" sh -c '
            flags=$1
            case $2 in
            model/base/error.c) ;;
            *) flags="$flags -include scripts/lint_hints.h" ;;
            esac
            [ "$2" != train/dist_mpi.c ] || flags="$flags $MPI_FLAGS"
            clang-tidy --quiet "$2" -- -std=c11 -D_GNU_SOURCE -fopenmp -I. $flags 2>/dev/null
        ' tidy "$flags"
}

check_c() {
    # shellcheck disable=SC2046 # file names of this project have no spaces
    cppcheck --quiet --std=c11 --language=c --error-exitcode=1 --inline-suppr -I. \
        -D_GNU_SOURCE -DJUEJU_VERSION='""' \
        --enable=warning,performance,portability --suppress=missingIncludeSystem \
        --suppress=memleak:model/base/memory.c \
        -j "$(nproc 2>/dev/null || echo 2)" $(sources 'model/*.c' 'data/*.c' 'train/*.c' 'scripts/*.c')
}

# shellcheck disable=SC2046
step clang-format clang-format --dry-run -Werror $(sources '*.c' '*.h')
step layers scripts/check_layers.sh
if command -v cppcheck >/dev/null 2>&1; then step cppcheck check_c; else step cppcheck cppcheck; fi
if command -v clang-tidy >/dev/null 2>&1; then step clang-tidy tidy; else step clang-tidy clang-tidy; fi
# shellcheck disable=SC2046
step shellcheck shellcheck -x -S warning $(sources 'scripts/*.sh' 'tests/cli/*.sh' .ci/run)
exit $failed
