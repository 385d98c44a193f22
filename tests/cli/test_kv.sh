# jueju kv: what it prints of one config.json and of several, and what it refuses.
# shellcheck shell=sh
. tests/cli/lib.sh

configs=tests/configs

# One number of the last run's JSON.
number() { # KEY
    grep -o "\"$1\": [0-9][0-9.e+-]*" "$work/out" | head -n 1 | sed 's/.*: //'
}

# The last run ended well, and its JSON has these.
has() { # KEY=NUMBER...
    for pair in "$@"; do
        found=$(number "${pair%%=*}")
        if [ "$code" -ne 0 ] || [ "$found" != "${pair#*=}" ]; then
            echo "expected $pair, found '$found', exit code $code and:"
            cat "$work/out" "$work/err"
            return 1
        fi
    done
}

quiet() {
    [ ! -s "$work/err" ] || { cat "$work/err"; return 1; }
}

# ---- one file -----------------------------------------------------------------------
run "$jueju" kv $configs/llama-3.1-8b.json
check "the kind with the field behind it" printed \
    '^attention  *GQA: 32 query heads share 8 KV heads (num_key_value_heads)$'
check "the head size and where it comes from" printed \
    '^head size  *128 (hidden_size / num_attention_heads)$'
check "bytes a token with the type and its field" printed \
    '^KV cache  *128 KiB a token (131,072 B), bfloat16 (torch_dtype)$'
check "as MHA" printed '^as MHA  *512 KiB a token (524,288 B), 4 times as much$'
check "the weights" printed '^parameters  *8,030,261,248: embedding 13.1%, attention 16.7%, MLP 70.2%'
check "their bytes" printed '^weights  *14.96 GiB, bfloat16 (torch_dtype)$'
check "a complete file needs no note" quiet

run "$jueju" kv $configs/deepseek-v3.json
check "MLA" printed '^attention  *MLA: 128 query heads read one latent of 512 + 64 numbers (kv_lora_rank 512'
check "MLA as MHA" printed '^as MHA  *4.766 MiB a token (4,997,120 B), 71.11 times as much$'
run "$jueju" kv $configs/falcon-7b.json
check "MQA in spite of num_kv_heads 71" printed '^attention  *MQA: 71 query heads .*(multi_query true)$'
check "and says what it did not use" said 0 \
    '^note: tests/configs/falcon-7b.json: num_kv_heads 71 is not used: multi_query is true$'
run "$jueju" kv $configs/gpt-oss-20b.json --tokens 131072
check "windows on half the layers" printed \
    '^in use  *3.003 GiB for 131072 tokens, batch 1; 6 GiB without windows'
check "which layers" printed '12 with a window of 128 tokens (layer_types, sliding_window)$'
run "$jueju" kv $configs/llama-3-70b.json -t 4096 -b 8
check "batch" printed '^in use  *10 GiB for 4096 tokens, batch 8; 80 GiB as MHA$'

# ---- a table ------------------------------------------------------------------------
run "$jueju" kv $configs/*.json
check "every config is in the table" [ "$(grep -c '^[a-z]' "$work/out")" -eq \
    $(($(ls $configs/*.json | wc -l) + 1)) ]
for row in 'llama-2-7b  *MHA  *32/32  *128  *32  *512 KiB  *1 ' \
    'falcon-7b  *MQA  *71/1  *64  *32  *8 KiB  *71 ' \
    'llama-3.1-8b  *GQA  *32/8  *128  *32  *128 KiB  *4 ' \
    'llama-3.3-70b  *GQA  *64/8  *128  *80  *320 KiB  *8 ' \
    'qwen2.5-0.5b  *GQA  *14/2  *64  *24  *12 KiB  *7 ' \
    'qwen3-8b  *GQA  *32/8  *128  *36  *144 KiB  *4 ' \
    'gpt-oss-20b  *GQA  *64/8  *64  *24  *48 KiB  *8 ' \
    'deepseek-v3  *MLA  *128  *192  *61  *68.62 KiB  *71.11 ' \
    'kimi-k2  *MLA  *64  *192  *61  *68.62 KiB ' \
    'glm-5  *MLA  *64  *256  *78  *87.75 KiB '; do
    check "row ${row%% *}" printed "^$row"
done
run "$jueju" kv $configs/llama-3.1-8b.json $configs/qwen3-8b.json --tokens 1024
check "the table with tokens" printed '^llama-3.1-8b .* 128 KiB  *128 MiB  *4 '

# ---- JSON ---------------------------------------------------------------------------
run "$jueju" kv --json $configs/gpt-oss-20b.json --tokens 131072
check "JSON is one line" [ "$(wc -l <"$work/out")" -eq 1 ]
check "its keys" has kv_bytes_per_token=49152 query_heads=64 kv_heads=8 head_dim=64 \
    layers=24 window_layers=12 kv_bytes_per_token_windows_full=24576 kv_bytes=3224371200 \
    total=20914757184 weights_bytes=41829514368 mha_ratio=8.0
check "the kind" printed '"kind": "GQA", "kind_from": "num_key_value_heads"'
check "the sources" printed '"sources": {.*"layers": "num_hidden_layers"'
run "$jueju" kv --json $configs/gemma-3-4b.json
check "notes are in the JSON too" printed '"notes": \["num_attention_heads is missing: 8'
run "$jueju" kv --json $configs/qwen3-8b.json $configs/jamba-v0.1.json
check "an object a file" [ "$(grep -c '^{.*}$' "$work/out")" -eq 2 ]
check "what is not known is null" printed '"parameters": null, "weights_bytes": null'

# ---- types of numbers ---------------------------------------------------------------
for pair in fp32=262144 bf16=131072 fp16=131072 fp8=65536 int8=65536 int4=32768; do
    run "$jueju" kv --json $configs/llama-3.1-8b.json --dtype "${pair%%=*}"
    check "--dtype ${pair%%=*}" has "kv_bytes_per_token=${pair#*=}" weights_bytes=16060522496
done
run "$jueju" kv --json $configs/llama-3.1-8b.json --weight-dtype int4
check "--weight-dtype" has kv_bytes_per_token=131072 weights_bytes=4015130624
run "$jueju" kv $configs/gpt2.json
check "without torch_dtype: 2 bytes" printed '36 KiB a token (36,864 B), 2 bytes a number (no torch_dtype)$'
check "and it says so" said 0 'torch_dtype is missing: 2 bytes a number$'
sed 's/"bfloat16"/"bfloat16", "quantization_config": {}/' $configs/llama-3.1-8b.json >"$work/q.json"
run "$jueju" kv "$work/q.json"
check "quantized weights" said 0 'quantization_config is not read: weights are counted in bfloat16'

# ---- cards --------------------------------------------------------------------------
for pair in 1=327680 2=163840 8=40960 16=40960 64=40960; do
    run "$jueju" kv --json $configs/llama-3-70b.json -N "${pair%%=*}"
    check "8 KV heads on ${pair%%=*} cards" has "kv_bytes_per_token_per_card=${pair#*=}"
done
check "copies are noted" said 0 '8 KV heads on 64 cards: they are copied, and the bytes a card stop falling at 8'
run "$jueju" kv --json $configs/deepseek-v3.json --tensor-parallel 16
check "the latent is on every card" has kv_bytes_per_token_per_card=70272
check "which is noted" said 0 'every card holds the whole latent'
run "$jueju" kv $configs/falcon-7b.json --tensor-parallel 2
check "heads are never cut" said 2 \
    'falcon-7b.json: --tensor-parallel 2: 71 query heads cannot be shared out evenly to 2 cards'
sed 's/"num_key_value_heads": 8/"num_key_value_heads": 32/' $configs/llama-3.1-8b.json >"$work/12.json"
sed -i 's/"num_attention_heads": 32/"num_attention_heads": 96/; s/"hidden_size": 4096/"hidden_size": 12288/' "$work/12.json"
run "$jueju" kv --json "$work/12.json" -N 12
check "the card that holds most" has kv_heads_per_card=4
check "which is noted as well" said 0 '32 KV heads do not divide among 12 cards'

# ---- folders, several files, mistakes -----------------------------------------------
mkdir "$work/run"
cp $configs/gpt2.json "$work/run/config.json"
run "$jueju" kv "$work/run"
check "a folder" printed 'run/config.json: gpt2$'
run "$jueju" kv "$work"
check "a folder without one" said 1 'config.json: cannot open'
echo '{"num_hidden_layers": 1e300}' >"$work/bad.json"
run "$jueju" kv "$work/bad.json"
check "an absurd number" said 2 \
    "^jueju: $work/bad.json: \"num_hidden_layers\": expected an integer, found a number"
check "nothing is printed then" [ ! -s "$work/out" ]
run "$jueju" kv $configs/qwen3-8b.json "$work/bad.json" $configs/gpt2.json
check "the others are still counted" [ "$(wc -l <"$work/out")" -eq 3 ]
check "the one that fails is named" said 2 "^left out: $work/bad.json: "
check "and the exit code says so" said 2 '^jueju: 1 of 3 files were left out$'
run "$jueju" kv "$work/bad.json" "$work/none.json"
check "all of them fail" said 2 '2 of 2 files'
printf '{"model_type": "\033[31mred", "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 32}' >"$work/red.json"
run "$jueju" kv "$work/red.json"
check "JSON with control characters" said 2 'red.json: line 1'
printf '{"model_type": "\\u001b[31mred", "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 32}' >"$work/red.json"
run "$jueju" kv "$work/red.json"
check "colours from a file are not printed" [ "$(grep -c "$(printf '\033')" "$work/out" "$work/err" | grep -vc ':0$')" -eq 0 ]
run "$jueju" kv
check "no file" said 2 'an argument is missing'
run "$jueju" kv $configs/gpt2.json --batch 4
check "--batch without --tokens" said 2 '--batch needs --tokens'
run "$jueju" kv $configs/gpt2.json --dtype fp3
check "an unknown type" said 2 '--dtype: expected one of auto,'
run "$jueju" kv $configs/gpt2.json --tokens -1
check "negative tokens" said 2 '--tokens: expected a whole number'
run "$jueju" kv $configs/llama-3-70b.json --tokens 1000000000000000 --batch 1000000000
check "more than 64 bits" said 2 'llama-3-70b.json: the KV cache: too large for 64 bits'
run "$jueju" kv $configs/gpt2.json --tokens 2048
check "more tokens than positions" said 0 'made for 1024 positions, asked for 2048 tokens'
finish
