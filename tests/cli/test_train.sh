# The rules of `make train`, with a program and a fetch that only write down their calls.
# shellcheck shell=sh
. tests/cli/lib.sh

root=$work/root
mkdir -p "$root/scripts" "$root/build/release-float" "$root/data" "$root/checkpoints"
cp scripts/train.sh "$root/scripts/"
touch -d '2020-01-01' "$root/data/reader.c"
calls=$work/calls

fake() { # PATH SHELL-CODE
    printf '#!/bin/sh\n%s\n' "$2" >"$root/$1"
    chmod +x "$root/$1"
}
fake scripts/deps.sh 'exit 0'
fake scripts/fetch_corpus.sh 'echo fetch >>"$CALLS"; exit ${FETCH_CODE:-0}'
fake build/release-float/jueju 'echo "$@" >>"$CALLS"
case $1 in
data) mkdir -p "data/prepared/$3"; echo {} >"data/prepared/$3/stats.json" ;;
train)
    shift; while [ "$1" != --out ]; do shift; done
    mkdir -p "$2/last" "$2/best"; echo {} >"$2/last/config.json"
    exit ${TRAIN_CODE:-0} ;;
eval) echo 4.4 nats ;;
sample) echo a poem ;;
esac'

train() { # [NAME=value...] RECIPE
    : >"$calls"
    run env CALLS="$calls" MAKE=true "$@"
}
default() {
    train "$@" "$root/scripts/train.sh" default
}
called() { # PATTERN
    grep -q -x -e "$1" "$calls" || {
        echo "expected '$1' in:"
        cat "$calls" "$work/err"
        return 1
    }
}
never() { # PATTERN
    ! grep -q -e "$1" "$calls"
}

default TRAIN_CODE=130
check "a stopped run: says how to go on" said 130 'the same command goes on'
check "it fetched" called fetch
check "it prepared" called 'data --corpus tang'
check "it trained" called 'train data/prepared/tang --name tang --out checkpoints/tang'
check "a stopped run prints no poems" never sample

default
check "the next run goes on" called 'train .* --resume'
check "it says so" said 0 'going on with the unfinished run'
check "nothing is fetched or prepared twice" never 'fetch\|data --corpus'
check "the loss is printed" called 'eval checkpoints/tang/best'
check "four poems are printed" called 'sample checkpoints/tang/best --count 4'

default
check "a finished run stays and the rule is told" said 0 'is finished.*FRESH=1'
check "a finished run is not trained again" never '^train'
check "its poems are printed" called 'sample .*'

default FRESH=1
check "FRESH=1 trains anew" called 'train data/prepared/tang --name tang --out checkpoints/tang'
check "FRESH=1 keeps the old run" [ -d "$root/checkpoints/tang.1" ]
default FRESH=1
check "and every one before" [ -d "$root/checkpoints/tang.2" ]

touch -d '2030-01-01' "$root/checkpoints/tang/last/config.json"
default
check "newer work on a finished run counts as unfinished" called 'train .* --resume'

touch -d '2030-01-01' "$root/data/reader.c"
default
check "a changed reader prepares again" called 'data --corpus tang'
touch -d '2020-01-01' "$root/data/reader.c"

default NAME=mine ARGS='--steps 3 --seed 4'
check "NAME and ARGS pass through" \
    called 'train data/prepared/tang --name mine --out checkpoints/mine --steps 3 --seed 4'
train "$root/scripts/train.sh" quick
check "quick has a run of its own" \
    called 'train data/prepared/tang --name tang-quick --out checkpoints/tang-quick --steps 500 .*'

rm -rf "$root/data/prepared" "$root/checkpoints"
default FETCH_CODE=3
check "without a network: the sample, and a line" said 0 'data/sample'
check "the sample is prepared" called 'data --corpus sample'
check "the sample is trained on" called 'train data/prepared/sample --name sample --out .*'
rm -rf "$root/data/prepared"
default FETCH_CODE=1
check "a wrong archive stops it" [ "$code" -eq 1 ]
check "and nothing is trained" never '^train'
default TRAIN_CODE=1 FETCH_CODE=3 NAME=other
check "a failed run fails" [ "$code" -eq 1 ]
train "$root/scripts/train.sh" nonsense
check "an unknown recipe" said 2 "unknown recipe 'nonsense'"

finish
