# The test runner must not call anything a success that is none.
# shellcheck shell=sh
. tests/cli/lib.sh

cmocka='echo "[==========] Running 2 test(s)."; echo "[ RUN      ] a"; echo "[       OK ] a"'
program() { # NAME SHELL-CODE
    printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
    chmod +x "$work/$1"
}
program good "$cmocka"
program crash "$cmocka; echo '[ RUN      ] b'; kill -SEGV \$\$"
program wrong "$cmocka; echo '[ RUN      ] b'; echo '[  FAILED  ] b'; exit 1"
program skip "$cmocka; echo '[ RUN      ] b'; echo '[  SKIPPED ] b'; echo '[ RUN      ] c'
echo '[  FAILED  ] c'; echo '[  SKIPPED ] 1 test(s), listed below:'; echo '[  SKIPPED ] b'
echo '[  FAILED  ] 1 test(s), listed below:'; echo '[  FAILED  ] c'; exit 1"
program late "$cmocka; exit 3"
program none 'exit 0'
program slow "$cmocka; echo '[ RUN      ] b'; sleep 60"
program tap.sh 'echo "ok one"; echo "not ok two"; exit 1'
program quiet.sh 'exit 0'

last_line() { # EXPECTED
    [ "$(tail -n 1 "$work/out")" = "$1" ] || {
        echo "expected '$1', found:"
        cat "$work/out" "$work/err"
        return 1
    }
}
ends() { # CODE LINE NAME...
    expected=$1
    line=$2
    shift 2
    names=
    for name in "$@"; do
        names="$names $work/$name"
    done
    # shellcheck disable=SC2086 # a list of words
    TEST_TIMEOUT=1 run scripts/run_tests.sh $names
    [ "$code" -eq "$expected" ] && last_line "$line"
}

check "good tests pass" ends 0 '2 passed, 0 failed' good good
check "a failed test is counted" ends 1 '1 passed, 1 failed' wrong
check "a skipped test hides no failed one" ends 1 '1 passed, 1 failed' skip
check "it goes on after a failure" ends 1 '2 passed, 1 failed' wrong good
check "a crash fails the test that ran" ends 1 '1 passed, 1 failed' crash
check "a bad exit code is a failure" ends 1 '1 passed, 1 failed' late
check "no tests are a failure" ends 1 '0 passed, 1 failed' none
check "no tests in a script are a failure" ends 1 '0 passed, 1 failed' quiet.sh
check "a program that is not there" ends 1 '0 passed, 1 failed' absent
check "a shell test is read" ends 1 '1 passed, 1 failed' tap.sh
check "nothing to run is no success" ends 1 '0 passed, 0 failed'
if command -v timeout >/dev/null 2>&1; then
    check "a test that hangs is stopped" ends 1 '1 passed, 1 failed' slow
fi

finish
