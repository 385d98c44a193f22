# What the shell tests share; read by `. tests/cli/lib.sh` from the project's root.
#
# A test file calls `check "what holds" COMMAND...` and ends with `finish`. $work is a
# folder of its own, removed at the end; $jueju is the program.
# shellcheck shell=sh
set -u

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# shellcheck disable=SC2034 # used by the tests
jueju=$PWD/${JUEJU:-build/release-float/jueju}
# What `make test NAME=value` was given must not reach the scripts under test.
unset BUILD NAME ARGS FRESH NO_INSTALL CORPUS_ARCHIVE PROMPT N SEED
wrong=0

check() { # DESCRIPTION COMMAND...
    description=$1
    shift
    if "$@"; then
        echo "ok $description"
    else
        echo "not ok $description: $*"
        wrong=$((wrong + 1))
    fi
}

# Runs a command; its exit code goes to $code, its streams to $work/out and $work/err.
run() {
    "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
}

# The last run ended with this exit code and said this on stderr (a basic pattern).
said() { # CODE PATTERN
    if [ "$code" -ne "$1" ] || ! grep -q -e "$2" "$work/err"; then
        echo "expected exit code $1 and '$2', found $code and:"
        cat "$work/err"
        return 1
    fi
}

# The last run ended well and was silent.
silent() {
    if [ "$code" -ne 0 ] || [ -s "$work/out" ] || [ -s "$work/err" ]; then
        echo "expected exit code 0 and no output, found $code and:"
        cat "$work/out" "$work/err"
        return 1
    fi
}

# The last run ended well and printed this on stdout.
printed() { # PATTERN
    if [ "$code" -ne 0 ] || ! grep -q -e "$1" "$work/out"; then
        echo "expected '$1', found exit code $code and:"
        cat "$work/out" "$work/err"
        return 1
    fi
}

finish() {
    [ $wrong -eq 0 ]
    exit
}
