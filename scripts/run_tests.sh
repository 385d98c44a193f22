#!/bin/sh
# Runs test programs and test scripts, sums up, and ends with "N passed, N failed".
#
#   JUEJU=build/.../jueju scripts/run_tests.sh TEST...
#
# A cmocka program reports "[ RUN ]" and "[ OK ]" lines, a shell test "ok" and "not ok"
# lines. A test that began and did not end well has failed, whatever became of its program;
# a program that was not built, crashed, ran over TEST_TIMEOUT seconds or ran no test at
# all counts as one failure more. A program's output is shown only when it failed.
set -u

limit=${TEST_TIMEOUT:-900}
output=$(mktemp)
trap 'rm -f "$output"' EXIT
trap 'exit 130' INT TERM

passed=0
failed=0
skipped=0

run() {
    if command -v timeout >/dev/null 2>&1; then
        timeout -k 10 "$limit" "$@"
    else
        "$@"
    fi
}

count() {
    grep -a -c -e "$1" "$output"
}

for test in "$@"; do
    bad=
    case $test in
    *.sh)
        run sh "$test" >"$output" 2>&1 </dev/null
        code=$?
        good=$(count '^ok ')
        wrong=$(count '^not ok ')
        skip=0
        ;;
    *)
        : >"$output"
        code=0
        if [ -x "$test" ]; then
            run "$test" >"$output" 2>&1 </dev/null
            code=$?
        else
            bad="was not built"
        fi
        # Names of failed and skipped tests come a second time in cmocka's summary: only
        # the first word after "RUN" decides.
        counts=$(LC_ALL=C awk '
            /\[ RUN      \]/ { begun++; open = 1 }
            open && /\[       OK \]/ { good++; open = 0 }
            open && /\[  SKIPPED \]/ { skip++; open = 0 }
            END { print good + 0, begun - good - skip, skip + 0 }' "$output")
        good=${counts%% *}
        skip=${counts##* }
        wrong=${counts#* }
        wrong=${wrong% *}
        ;;
    esac
    if [ $code -eq 124 ] || [ $code -eq 137 ]; then
        bad="did not end within $limit s"
    elif [ $code -ge 128 ]; then
        bad="died of signal $((code - 128))"
    elif [ $code -ne 0 ] && [ "$wrong" -eq 0 ]; then
        bad="exit code $code"
    elif [ -z "$bad" ] && [ $((good + wrong + skip)) -eq 0 ]; then
        bad="ran no tests"
    fi
    # A signal while a test ran was counted with that test.
    if [ -n "$bad" ] && [ "$wrong" -eq 0 ]; then
        wrong=1
    fi
    passed=$((passed + good))
    failed=$((failed + wrong))
    skipped=$((skipped + skip))
    if [ "$wrong" -eq 0 ]; then
        printf '  ok    %s: %d\n' "$test" "$good"
    else
        cat "$output"
        printf '  FAIL  %s: %d passed, %d failed%s\n' "$test" "$good" "$wrong" "${bad:+ ($bad)}"
    fi
done

[ $skipped -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
