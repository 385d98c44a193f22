#!/bin/sh
# What each kind of attention costs and how well it learns: the default size with multi-head,
# grouped-query, multi-query and latent attention, equal in everything else (RMSNorm, RoPE,
# SwiGLU, no biases), the same number of steps and the same seed. Prints one Markdown table.
#
#   scripts/experiment_attention.sh [STEPS]        default 900: some 4 minutes a model
#
# Decoding is one stream on one thread, with random weights of the same shapes and a context
# of 2,048 positions; KV bytes are what the cache then really holds, in float32.
cd "$(dirname "$0")/.."
. scripts/experiment.sh

steps=${1:-${STEPS:-900}}
out=${OUT:-checkpoints/experiment-attention}

vocabulary=$(number vocab_size "$set/stats.json")

decode() { # TOKENS OPTION...
    length=$1
    shift
    "$jueju" bench-decode --vocab "$vocabulary" --tokens "$length" --rows 1 --threads 1 --json "$@"
}

row() { # TITLE NAME OPTION...
    title=$1
    name=$2
    shift 2
    train "$name" "$steps" "$@"
    short=$(decode 128 "$@")
    long=$(decode 2048 "$@")
    printf '| %s | %.0f | %d | %.0f | %.0f | %.0f | %.4f |\n' "$title" \
        "$(echo "$short" | number parameters)" "$(echo "$long" | number kv_bytes_per_token)" \
        "$(speed "$out/$name")" "$(echo "$short" | number tokens_per_second)" \
        "$(echo "$long" | number tokens_per_second)" "$(nats "$out/$name/best")" >>"$out/table"
}

mkdir -p "$out"
cat >"$out/table" <<END
| attention | parameters | KV bytes a token | training, tokens/s | decoding at 128 | at 2,048 | validation nats |
|---|---|---|---|---|---|---|
END
row 'MHA, 4 heads' mha --family llama --kv-heads 4
row 'GQA, 2 key/value heads' gqa2 --family llama --kv-heads 2
row 'MQA, 1 key/value head' mqa --family llama --kv-heads 1
row 'MLA, R 64 + RoPE 16' mla --family deepseek
echo "$steps steps, seed $seed, $("$jueju" --version)"
echo
cat "$out/table"
