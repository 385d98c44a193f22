#!/bin/sh
# Couplets from the sample's pairs to second lines: train, resume, eval, sample.
# shellcheck disable=SC2154,SC2016 # jueju, work, code come from lib.sh; awk programs
. tests/cli/lib.sh

set=$work/pairs
run=$work/run
small='--layers 1 --encoder-layers 1 --heads 2 --width 32 --steps 6 --eval-every 3
    --log-every 2 --batch-tokens 256'

"$jueju" data --corpus sample --pairs --couplets all --out "$set" >/dev/null 2>&1

# ---- train ---------------------------------------------------------------------------
train() { # OPTIONS...
    # shellcheck disable=SC2086 # $small is a list of options
    run "$jueju" train "$set" --family couplet $small "$@"
}

train --out "$run"
check "it trains" printed "^validation: [0-9.]* nats a second line's token at step"
check "it says what it trains" grep -q "^model: couplet, L1 Le1 H2 C32 T32" "$work/err"
check "and on what" grep -q "pairs of lines to train on" "$work/err"
check "the checkpoint is Pegasus's" \
    grep -q '"PegasusForConditionalGeneration"' "$run/best/config.json"

train --out "$run"
check "a run is not written over" said 2 "holds a run already"
run "$jueju" train "$set" --out "$run" --resume
check "a finished run can be resumed, its family being its own" [ "$code" -eq 0 ]
train --out "$work/other" --threads 1
check "the same bits with another number of threads" \
    cmp "$run/last/model.safetensors" "$work/other/last/model.safetensors"

run "$jueju" train "$set" --out "$run" --resume --steps 7
check "a resume keeps to the run's options" said 2 "differs from what this run was started with"

run "$jueju" train "$set" --out "$work/none" --steps 1
check "pairs want the family" said 2 "family couplet"
run "$jueju" train "$set" --family couplet --keep-title 0.5 --out "$work/none"
check "pairs have no fields" said 2 "keep-title is for poems"
run "$jueju" train "$set" --family couplet --context 7 --out "$work/none"
check "a context too short for the lines" said 2 "at least 8"
run "$jueju" train "$set" --family couplet --attention mla --no-biases --out "$work/none"
check "latent attention has no encoder" said 2 "mla"
run "$jueju" train --encoder-layers 2 --out "$work/none" "$set"
check "only couplet has an encoder" said 2 "encoder"
run "$jueju" bench --family couplet
check "the benchmark knows none" said 2 "decoder alone"

"$jueju" data --corpus sample --out "$work/poems" >/dev/null 2>&1
run "$jueju" train "$work/poems" --family couplet --out "$work/none"
check "the family wants pairs" said 2 "jueju data --pairs"
check "nothing was left of these" test ! -e "$work/none"

# ---- eval ----------------------------------------------------------------------------
run "$jueju" eval "$run"
check "eval tells the loss" printed "^nats a body token  [0-9.]*"
check "and the true lines' tones" printed "^  true lines  *[0-9.]*%.*100.0%$"
check "and those of drawn lines" printed "^  drawn (temperature 0.8)  *[0-9.]*%"
run "$jueju" eval "$run" --set "$set" --split test --temperature 2 --json
check "the same as JSON" printed '"couplets":.*"greedy":.*"opposite_tones"'
run "$jueju" eval "$run" --set "$work/poems"
check "poems are no pairs" said 2 "pairs\|couplets"

# ---- sample --------------------------------------------------------------------------
run "$jueju" sample "$run" --couplet 白日依山盡 --seed 3
check "a couplet" printed '^白日依山盡，.*。$'
cp "$work/out" "$work/alone"
run "$jueju" sample "$run" --couplet '白日依山盡' -n 3 --seed 1 --threads 1
check "its seed alone or among others" sh -c "tail -n 1 $work/out | cmp - $work/alone"

# Length and repetitions of 200 second lines of several lengths.
run "$jueju" sample "$run" --couplet '白日依山盡，欲窮千里目。兩個黃鸝鳴翠柳 一行白鷺上青天
春風' -n 40 --temperature 3 --top-p 1 --json
check "two hundred of them" [ "$(wc -l <"$work/out")" -eq 200 ]
check "a line that it has not read is told" grep -q "a line of 2 characters" "$work/err"
# The sample's characters have three bytes each.
check "each is as long as its first line and repeats none of it" env LC_ALL=C awk -F'"' '
    { if (length($4) != length($8)) exit 1 }
    { for (i = 1; i <= length($4); i += 3) if (index($8, substr($4, i, 3))) exit 1 }
' "$work/out"
run "$jueju" sample "$run" --couplet 白日依山盡 -n 50 --temperature 5 --repeats --json
check "with --repeats some do" env LC_ALL=C awk -F'"' '
    { for (i = 1; i <= length($4); i += 3) if (index($8, substr($4, i, 3))) found = 1 }
    END { exit !found }
' "$work/out"

run "$jueju" sample "$run" --couplet 举头望明月 --seed 1
check "simplified characters are read" printed '^舉頭望明月，'
check "and it says so" grep -q '举 read as 舉' "$work/err"

run "$jueju" sample "$run" --couplet ''
check "no line" said 2 "expected a first line"
run "$jueju" sample "$run" --couplet ' ，。 '
check "nor marks alone" said 2 "expected a first line"
run "$jueju" sample "$run" --couplet 'abcde'
check "letters are no line" said 2 "expected Chinese characters"
run "$jueju" sample "$run" --couplet "$(printf '\345\261')"
check "nor half a character" said 2 "expected UTF-8"
run "$jueju" sample "$run" --couplet 春風春風春風春風春風春風春風春風春風春風春風春風春風春風春風春風
check "a line longer than the context" said 2 "any length from 1 to 31"
run "$jueju" sample "$run" --couplet 春風 --title 春
check "a title is for poems" said 2 "title is for poems"
run "$jueju" sample "$run" --repeats
check "--repeats is for couplets" said 2 "goes with --couplet"
run "$jueju" sample "$run"
check "a model of couplets wants a first line" said 2 "give it a first one with --couplet"

# ---- commands that know a decoder alone ------------------------------------------------
run "$jueju" heads "$run" --set "$set"
check "heads refuses an encoder" said 2 "without an encoder"
run "$jueju" regroup "$run" --kv-heads 1 --out "$work/none"
check "so does regroup" said 2 "without an encoder"
run "$jueju" export "$run" --gguf "$work/none"
check "so does export" said 2 "without an encoder"
run "$jueju" bench-decode --family couplet
check "so does bench-decode" said 2 "decoder alone"
check "and nothing is written" test ! -e "$work/none"

# ---- which checkpoint ----------------------------------------------------------------
mkdir -p "$work/here/checkpoints"
run "$jueju" train "$work/poems" --layers 1 --heads 2 --width 32 --steps 1 --out "$work/here/checkpoints/poems"
cp -r "$run" "$work/here/checkpoints/pairs"
run sh -c "cd $work/here && $jueju sample --seed 1 --max-tokens 5"
check "poems come from the newest model of poems" [ "$code" -eq 0 ]
run sh -c "cd $work/here && $jueju sample --couplet 白日依山盡"
check "couplets from the newest of couplets" printed '^白日依山盡，'
rm -r "$work/here/checkpoints/pairs"
run sh -c "cd $work/here && $jueju sample --couplet 白日依山盡"
check "none there: how to make one" said 2 "train --family couplet"
run "$jueju" sample "$work/here/checkpoints/poems" --couplet 白日依山盡
check "a model of poems writes no second lines" said 2 "model of whole poems"

finish
