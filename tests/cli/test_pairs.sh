#!/bin/sh
# jueju data --pairs: couplets as a set, its check, and who refuses it.
# shellcheck disable=SC2154 # jueju, work, code come from lib.sh
. tests/cli/lib.sh

set=$work/couplets

run "$jueju" data --corpus sample --pairs --out "$set"
check "the sample gives couplets" printed "^train .* pairs"
check "the share of opposite tones is told" printed "^tones  *9[0-9]\.[0-9]%"
cp -r "$set" "$work/parallel"

run "$jueju" data --corpus sample --pairs --couplets all --out "$set"
check "all couplets are more" test "$(wc -c <"$set/train.bin")" -gt "$(wc -c <"$work/parallel/train.bin")"

run "$jueju" data --check-split "$set"
check "no line of it is in two parts" printed "^0 of [1-9][0-9]* held-out pairs have a line in training"

run "$jueju" data --check-split "$set" --json
check "the same as JSON" printed '"in_train": 0'

# A held-out part that is training: the check must see it, digests and counts being right.
cp -r "$set" "$work/leak"
for ending in bin idx pairs; do
    cp "$set/train.$ending" "$work/leak/val.$ending"
done
{
    sed '/^ *"val": {/,$d' "$set/stats.json"
    sed -n '/^ *"train": {/,/^ *}/p' "$set/stats.json" | sed 's/"train"/"val"/'
    sed '1,/^ *"val": {/d' "$set/stats.json" | sed '1,/^ *}/d'
} >"$work/leak/stats.json"
run "$jueju" data --check-split "$work/leak"
check "a leak is found" said 1 "the split leaks"

run "$jueju" train "$set" --steps 1 --out "$work/checkpoint"
check "train without the couplet family refuses it" said 2 "family couplet"

run "$jueju" data --couplets all
check "--couplets alone is a mistake" said 2 "--couplets goes with --pairs"

run "$jueju" data --pairs --couplets middle
check "an unknown choice is named" said 2 "middle"

run "$jueju" data --pairs --stream "$work/none.txt"
check "a running text has no couplets" said 2 "running text"

printf '天地玄黃宇宙，洪荒日月盈昃。\n' >"$work/none.txt"
run "$jueju" data --pairs --out "$work/none" "$work/none.txt"
check "sources without couplets are an error" said 2 "no couplets"
check "and leave nothing behind" test ! -e "$work/none"

finish
