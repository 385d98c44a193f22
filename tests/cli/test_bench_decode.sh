# The decoding benchmark of tiny models: the cache's bytes, lists, what is refused.
# shellcheck shell=sh
. tests/cli/lib.sh

tiny() {
    run "$jueju" bench-decode --layers 3 --heads 4 --width 32 --vocab 50 --mlp-width 16 \
        --steps 3 --samples 2 --threads 1 "$@"
}

# The number behind a key of the last run's JSON.
number() { # KEY
    sed -n 's/.*"'"$1"'": \([0-9.e+-]*\).*/\1/p' "$work/out"
}

# A condition on numbers, in awk's words.
holds() { # CONDITION
    awk "BEGIN {exit !($1)}"
}

tiny --tokens 5,40 --rows 1,3
check "a line for each length and number of rows" [ "$(grep -c '^  *[0-9]*  *[0-9]* ' "$work/out")" -eq 4 ]
check "for people: what the columns are" printed 'tokens/s .* KV B/token'
tiny --tokens 5,40 --rows 1,3 --json
check "--json: an object a line" [ "$(wc -l <"$work/out")" -eq 4 ]

one() { # OPTION...
    tiny --tokens 40 --rows 2 --json "$@"
}
bytes() { # KIND A-TOKEN A-ROW
    [ "$code" -eq 0 ] && grep -q "\"kind\": \"$1\"" "$work/out" &&
        [ "$(number kv_bytes_per_token)" -eq "$2" ] &&
        [ "$(number kv_bytes_per_row)" -eq "$3" ]
}
# 2 L G D numbers of 4 bytes, D = 8; of MLA L (R + O).
one
check "MHA keeps 2 L H D numbers a token" bytes MHA 768 30720
check "tokens a second" holds "$(number tokens_per_second) > 0"
check "the spread lies around the median" holds \
    "$(number tokens_per_second_worst) <= $(number tokens_per_second) && $(number tokens_per_second) <= $(number tokens_per_second_best)"
one --kv-heads 2
check "GQA keeps half of that" bytes GQA 384 15360
one --kv-heads 1
check "MQA keeps a quarter" bytes MQA 192 7680
one --window 10 --window-layers sf
check "layers with a window of 10 keep 10 tokens, the others 40" bytes MHA 768 15360
one --family deepseek --kv-rank 20 --rope-size 6
check "MLA keeps L (R + O) numbers a token" bytes MLA 312 12480
one --family deepseek --kv-rank 20 --rope-size 6 --mla-form expanded
check "in both forms" bytes MLA 312 12480
tiny --tokens 1 --rows 1
check "a sequence of one token" printed '^ *1 *1 '

tiny --tokens 5,,6
check "a list with a hole" said 2 '^jueju: --tokens: expected .* found "5,,6"'
tiny --rows 0
check "no rows" said 2 '^jueju: --rows: expected up to 16 numbers of 1 .. 4096'
tiny --context 9
check "--context has no meaning" said 2 '^jueju: --context means nothing here'
tiny --kv-heads 3
check "sizes that do not go together" said 2 'key/value heads (3)'
tiny --family couplet
check "a model with an encoder" said 2 'decoder alone'
finish
