# The program as a whole: help, version, exit codes, lost output.
# shellcheck shell=sh
. tests/cli/lib.sh

run "$jueju"
check "no command is wrong usage" said 2 'a command is missing'
run "$jueju" --help
check "--help goes to stdout" printed 'usage: jueju COMMAND'
check "--help leaves stderr empty" [ ! -s "$work/err" ]
run "$jueju" help
check "help is --help" printed 'usage: jueju COMMAND'
run "$jueju" --version
check "--version says the number type" printed '^jueju [0-9.]* (float)$'
run "$jueju" hlep
check "a mistyped command gets the nearest" said 2 "unknown command 'hlep'; did you mean help?"
run "$jueju" ''
check "an empty command is unknown" said 2 "unknown command ''"
run "$jueju" --nonsense
check "an unknown option is named" said 2 "unknown option '--nonsense'"
run "$jueju" help nonsense
check "help for an unknown command" said 2 "unknown command 'nonsense'"
run "$jueju" "$(printf '\033[31mred')"
check "errors cannot steer the terminal" said 2 '\\x1b\[31mred'

"$jueju" --version 2>"$work/err" >&-
code=$?
check "a closed stdout is noticed" said 1 'standard output'
if [ -c /dev/full ]; then
    "$jueju" --help 2>"$work/err" >/dev/full
    code=$?
    check "a full disk is noticed" said 1 'standard output: No space left'
fi
"$jueju" --version >"$work/out" 2>&- <&-
code=$?
check "closed stdin and stderr do no harm" printed '^jueju '

# Every command that is there: its own help, and the same rules for its options.
for command in $("$jueju" --help | sed -n '/^commands:/,$s/^  \([a-z]*\) .*/\1/p'); do
    run "$jueju" "$command" --help
    check "$command --help" printed "^usage: jueju $command"
    check "$command has --seed" printed '^ *--seed N'
    check "$command has --threads" printed '^ *--threads N'
    check "$command --help says defaults" printed '(default: '
    cp "$work/out" "$work/help"
    run "$jueju" help "$command"
    check "help $command is the same" cmp "$work/help" "$work/out"
    run "$jueju" "$command" --sede 3
    check "$command: nearest option" said 2 'did you mean --seed?'
    run "$jueju" "$command" --seed nan
    check "$command: bad seed" said 2 '--seed: expected a whole number'
    run "$jueju" "$command" --threads 5000000000000000000000
    check "$command: threads overflow" said 2 '--threads: expected a whole number'
    run "$jueju" "$command" --seed
    check "$command: seed without a value" said 2 '--seed needs a value'
done

finish
