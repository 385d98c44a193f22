#!/bin/sh
# What each kind of attention costs and how well it learns: the default size with multi-head,
# grouped-query, multi-query and latent attention, equal in everything else (RMSNorm, RoPE,
# SwiGLU, no biases), the same number of steps and the same seed. Prints one Markdown table.
#
#   scripts/experiment_attention.sh [STEPS]        default 900: some 4 minutes a model
#
# Speeds are medians of ROUNDS (5) measurements, all kinds in turn: training as `jueju bench`
# measures it, decoding as one stream on one thread with random weights of the same shapes.
# KV bytes are what the cache then really holds, in float32.
cd "$(dirname "$0")/.."
. scripts/experiment.sh

steps=${1:-${STEPS:-900}}
rounds=${ROUNDS:-5}
out=${OUT:-checkpoints/experiment-attention}
kinds='mha gqa2 mqa mla'

options() { # KIND: the options that make it
    case $1 in
    mha) echo --family llama --kv-heads 4 ;;
    gqa2) echo --family llama --kv-heads 2 ;;
    mqa) echo --family llama --kv-heads 1 ;;
    mla) echo --family deepseek ;;
    esac
}

title() { # KIND
    case $1 in
    mha) echo 'MHA, 4 heads' ;;
    gqa2) echo 'GQA, 2 key/value heads' ;;
    mqa) echo 'MQA, 1 key/value head' ;;
    mla) echo 'MLA, R 64 + RoPE 16' ;;
    esac
}

# shellcheck disable=SC2046 # options are words
measure() { # KIND: a line more in each of its files
    "$jueju" bench --vocab "$vocabulary" --no-phases --steps 3 --json $(options "$1") |
        number tokens_per_second >>"$speeds/$1-training"
    for length in 128 2048; do
        "$jueju" bench-decode --vocab "$vocabulary" --tokens $length --rows 1 --threads 1 \
            --json $(options "$1") >"$speeds/$1"
        number tokens_per_second "$speeds/$1" >>"$speeds/$1-$length"
    done
}

row() { # KIND
    printf '| %s | %.0f | %d | %.0f | %.0f | %.0f | %.4f |\n' "$(title "$1")" \
        "$(number parameters "$speeds/$1")" "$(number kv_bytes_per_token "$speeds/$1")" \
        "$(median <"$speeds/$1-training")" "$(median <"$speeds/$1-128")" \
        "$(median <"$speeds/$1-2048")" "$(nats "$out/$1/best")"
}

vocabulary=$(number vocab_size "$set/stats.json")
mkdir -p "$out"
# shellcheck disable=SC2046
for kind in $kinds; do
    train "$kind" "$steps" $(options "$kind")
done

speeds=$(mktemp -d)
trap 'rm -rf "$speeds"' EXIT
trap 'exit 130' INT TERM
round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for kind in $kinds; do
        measure "$kind"
    done
done

echo "$steps steps, seed $seed, $("$jueju" --version)"
echo
echo '| attention | parameters | KV bytes a token | training, tokens/s | decoding at 128 | at 2,048 | validation nats |'
echo '|---|---|---|---|---|---|---|'
for kind in $kinds; do
    row "$kind"
done
