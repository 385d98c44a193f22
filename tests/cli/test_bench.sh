# The benchmark of a tiny model: what it prints, in all its forms.
# shellcheck shell=sh
. tests/cli/lib.sh

tiny() {
    run "$jueju" bench --rows 4 --layers 1 --heads 2 --width 16 --context 8 --vocab 50 \
        --steps 3 --threads 1 "$@"
}

# The number behind a key of the last run's JSON.
number() { # KEY
    sed -n 's/.*"'"$1"'": \([0-9.e+-]*\).*/\1/p' "$work/out"
}

# A condition on numbers, in awk's words.
holds() { # CONDITION
    awk "BEGIN {exit !($1)}"
}

tiny
check "a table for people" printed '^training .* tokens/s (median;'
for phase in 'embedding' 'layernorm' 'qkv forward' 'qkv backward' 'attention forward' \
    'attention backward' 'out forward' 'mlp up backward' 'mlp down forward' 'gelu' \
    'head and loss' 'lanes zeroed, added' 'clip' 'adamw'; do
    check "phase '$phase'" printed "^$phase  *[0-9]"
done
tiny --optimizer muon
check "the update's phase is named after the optimizer" printed '^muon  *1 '
tiny --no-phases
check "--no-phases" [ "$(grep -c '^phase\|^embedding' "$work/out")" -eq 0 ]

tiny --json
check "--json is one line" [ "$(wc -l <"$work/out")" -eq 1 ]
for key in tokens_per_second share_of_peak share_of_sgemm threads peak_rss_bytes; do
    check "--json has $key" [ -n "$(number $key)" ]
done
# 3 (2 L (4 C^2 + 2 C F) + 2 C V + 2 L C (T + 1)) with F = 4 C
check "operations a token" holds "$(number flop_per_token) == 3 * (2 * (4 * 256 + 8 * 256) + 2 * 16 * 50 + 2 * 16 * 9)"
check "tokens a second" holds "$(number tokens_per_second) > 0"
check "the spread lies around the median" holds \
    "$(number tokens_per_second_worst) <= $(number tokens_per_second) && $(number tokens_per_second) <= $(number tokens_per_second_best)"

tiny --no-phases --csv "$work/results.csv"
tiny --no-phases --csv "$work/results.csv"
check "--csv appends: a header and two lines" [ "$(wc -l <"$work/results.csv")" -eq 3 ]
check "--csv: every line has as many fields" [ "$(awk -F, '{print NF}' "$work/results.csv" | sort -u | wc -l)" -eq 1 ]
tiny --csv "$work/nowhere/results.csv"
check "--csv that cannot be written" said 1 "nowhere/results.csv"

tiny --dump "$work/dump"
check "--dump writes the model" [ -s "$work/dump/model.safetensors" ]
check "--dump writes a step" [ -s "$work/dump/step.safetensors" ]

tiny --lanes 3
check "lanes that are no power of two" said 2 '^jueju: --lanes: expected a power of two, found 3'
tiny --heads 3
check "sizes that do not fit" said 2 'multiple of the number of heads'
finish
