# Models of other families and with other switches: trained, resumed, evaluated, refused.
# shellcheck shell=sh
. tests/cli/lib.sh

set=$work/sample
run "$jueju" data --corpus sample --out "$set"
check "the sample is prepared" [ -f "$set/train.bin" ]

tiny() { # OUT OPTION...
    out=$work/$1
    shift
    run "$jueju" train "$set" --out "$out" --layers 2 --heads 4 --width 32 --context 32 \
        --batch-tokens 256 --steps 6 --warmup 2 --eval-every 3 --log-every 3 "$@"
}
has() { # RUN KEY VALUE: a line of its config.json
    grep -q "^ *\"$2\": $3,*\$" "$work/$1/best/config.json" || {
        cat "$work/$1/best/config.json"
        return 1
    }
}
told() { # PATTERN
    grep -q -e "$1" "$work/err" || {
        cat "$work/err"
        return 1
    }
}
same() { # RUN RUN
    for file in model.safetensors training/optimizer.safetensors; do
        cmp "$work/$1/last/$file" "$work/$2/last/$file" || return 1
    done
}

# ---- families ------------------------------------------------------------------------
tiny llama --family llama --threads 1
check "llama is told as it is" told '^model: llama, L2 H4 G2 C32 T32 F96 V'
check "narrow heads are warned of" told '^warning: .* 8 channels'
check "llama is saved as llama" has llama model_type '"llama"'
check "with its groups" has llama num_key_value_heads 2
tiny deepseek --family deepseek --q-rank 0 --threads 2
check "deepseek is told as it is" told '^model: deepseek, L2 H4 R16 Rq0 P8 O4 E8 C32'
check "deepseek is saved as deepseek" has deepseek model_type '"deepseek_v3"'
check "without a query latent" has deepseek q_lora_rank null
tiny mistral --family llama --window 8
check "a llama whose layers all slide is a mistral" has mistral model_type '"mistral"'
tiny ministral --family llama --window 8 --window-layers sf
check "one with some that do is a ministral" has ministral model_type '"ministral"'
for name in llama deepseek mistral ministral; do
    run "$jueju" eval "$work/$name/best" --json
    check "$name can be evaluated" printed '"nats"'
done

# ---- switches alone ------------------------------------------------------------------
tiny own --norm rmsnorm --norm-place after --positions sinusoidal --mlp swiglu \
    --no-biases --no-tied --no-scaled-scores --no-scaled-residual --head-size 12
check "switches that are not the family's are told" \
    told 'D12 C32 .*, rmsnorm, norms after, positions sinusoidal, swiglu, no biases, untied head, unscaled scores'
check "such a model has a type of its own" has own model_type '"jueju-gpt2"'
run "$jueju" eval "$work/own/best" --json
check "and is read back" printed '"nats"'
tiny mixed --attention mla --positions rope --no-biases --kv-rank 6 --rope-theta 500
check "latent attention in gpt2" told '^model: gpt2, L2 H4 R6 Rq24 P8 O4 E8 .*, positions rope, mla'

# ---- going on ------------------------------------------------------------------------
cp -r "$work/ministral" "$work/kept"
run "$jueju" train "$set" --out "$work/ministral" --resume
check "a run is resumed with its family and windows" printed '^validation: '
check "and is the same" same ministral kept
run "$jueju" train "$set" --out "$work/ministral" --resume --window 9
check "another window is refused" said 2 '^jueju: --window differs'
run "$jueju" train "$set" --out "$work/ministral" --resume --family deepseek
check "another family is refused" said 2 '^jueju: --family differs'

# ---- what cannot be ------------------------------------------------------------------
refused() { # PATTERN OPTION...
    pattern=$1
    shift
    tiny refused "$@"
    check "refused: $*" said 2 "$pattern"
}
refused 'multiple of the number of key/value heads (3)' --kv-heads 3
refused 'width (32) must be a multiple of the number of heads (5)' --heads 5
refused 'head size must be even' --positions rope --head-size 7
refused 'attention "mla" has no biases' --attention mla
refused 'num_key_value_heads 2 means nothing' --family deepseek --kv-heads 2
refused 'positions "learned" turn no keys' --family deepseek --positions learned --rope-size 4
refused 'kv_lora_rank) (4) means nothing' --kv-rank 4
refused 'there is no --window' --window-layers sf
refused 'expected letters s' --window 4 --window-layers sx
refused 'no layer slides' --window 4 --window-layers f
refused "expected one of gpt2, llama, deepseek" --family lama
check "nothing was made" [ ! -e "$work/refused" ]

# ---- the other commands --------------------------------------------------------------
run "$jueju" train --family deepseek --help
check "--help shows the family's defaults" printed 'attention (default: mla)'
for family in llama deepseek; do
    run "$jueju" gradcheck --family "$family" -L1 -H2 -C8 -T4 -F5 -V7 --samples 4
    check "gradcheck --family $family" printed '^worst [0-9.]*e-[01]'
    run "$jueju" bench --family "$family" --rows 4 --layers 1 --heads 2 --width 16 \
        --context 8 --vocab 50 --steps 1 --threads 1
    check "bench --family $family" printed '^attention backward  *[0-9]'
done

finish
