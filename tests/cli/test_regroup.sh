# jueju regroup, and going on from what it made.
# shellcheck shell=sh
. tests/cli/lib.sh

set=$work/sample
"$jueju" data --corpus sample --out "$set" >/dev/null 2>&1
train() {
    run "$jueju" train "$set" --steps 4 --eval-every 4 --log-every 2 --threads 2 "$@"
}
tiny='--layers 2 --heads 4 --width 32 --context 64 --batch-tokens 256'
same() { # A B: weights and optimizer
    cmp "$1/model.safetensors" "$2/model.safetensors" &&
        cmp "$1/training/optimizer.safetensors" "$2/training/optimizer.safetensors"
}

# shellcheck disable=SC2086 # options
train $tiny --out "$work/mha"
check "a multi-head model" [ "$code" -eq 0 ]
run "$jueju" regroup "$work/mha" --kv-heads 2
check "regroup says what it made" printed "^$work/mha-kv2: 2 of 4 key/value heads"
check "... and where it came from" grep -q 'regroup --kv-heads 2' "$work/mha-kv2/origin.json"
run "$jueju" eval "$work/mha-kv2"
check "it evaluates, on the set of the old model" printed 'nats a body token'
run "$jueju" sample "$work/mha-kv2" -n 1
check "it samples" [ "$code" -eq 0 ]
run "$jueju" regroup "$work/mha" --kv-heads 2
check "what is there stays" said 2 "mha-kv2 is there already: --overwrite"
run "$jueju" regroup "$work/mha" --kv-heads 2 --overwrite
check "--overwrite" [ "$code" -eq 0 ]
run "$jueju" regroup "$work/mha" --kv-heads 3 --out "$work/three"
check "a number that is no divisor" said 2 'expected a divisor of the model.s 4, found 3'
check "... leaves nothing" [ ! -e "$work/three" ]
run "$jueju" regroup "$work/mha"
check "--kv-heads is needed" said 2 '^jueju: --kv-heads is missing'
run "$jueju" regroup "$work/nothing" --kv-heads 1
check "a checkpoint that is not there" said 2 'nothing: no such folder'

train --resume-from "$work/mha-kv2"
check "train --resume-from" [ "$code" -eq 0 ]
check "... into a folder of its own" [ -s "$work/mha-kv2-trained/last/model.safetensors" ]
kv_heads() {
    "$jueju" kv "$1/config.json" --json 2>"$work/notes" |
        sed -n 's/"sources".*//; s/.*"kv_heads": *\([0-9]*\).*/\1/p'
}
check "... with the groups" [ "$(kv_heads "$work/mha-kv2-trained/last")" = 2 ]
train --resume-from "$work/mha-kv2" --steps 8 --out "$work/whole"
run sh -c "\"$jueju\" train \"$set\" --resume-from \"$work/mha-kv2\" --steps 8 --eval-every 4 --log-every 2 --threads 1 --out \"$work/part\" & pid=\$!
    until [ -d \"$work/part/last\" ]; do sleep 0.05; kill -0 \$pid || break; done; kill -9 \$pid 2>/dev/null; wait \$pid 2>/dev/null; true"
run "$jueju" train "$set" --out "$work/part" --resume --threads 2
check "a resumed run equals one that was not stopped" same "$work/whole/last" "$work/part/last"
train --resume-from "$work/mha-kv2" --out "$work/other" --width 64
check "a size beside --resume-from" said 2 "^jueju: --width: with --resume-from the model is the checkpoint's"
train --resume-from "$work/mha-kv2" --out "$work/other" --init normal
check "--init beside --resume-from" said 2 '^jueju: --init: with --resume-from'
train --resume-from "$work/nothing" --out "$work/other"
check "--resume-from nothing" said 2 'nothing: no such folder'
head -n 40 README.md | sed 's/^ *//' >"$work/text.txt"
"$jueju" data "$work/text.txt" --min-count 1 --stream --out "$work/set2" >/dev/null 2>&1
run "$jueju" train "$work/set2" --resume-from "$work/mha-kv2" --steps 2 --batch-tokens 256 --out "$work/other"
check "another vocabulary" said 2 'the vocabulary ([0-9]* tokens) is not that of the set'
finish
