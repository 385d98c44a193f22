#!/bin/sh
# Uptraining (Ainslie et al. 2023): a multi-head model whose key and value heads are averaged
# into groups and trained on for 5% of its steps, beside models that had the groups from the
# start. Prints one Markdown table.
#
#   scripts/experiment_regroup.sh [STEPS]          default 900; shares its runs with
#                                                  scripts/experiment_attention.sh
cd "$(dirname "$0")/.."
. scripts/experiment.sh

steps=${1:-${STEPS:-900}}
out=${OUT:-checkpoints/experiment-attention}
more=$(((steps + 19) / 20))

mkdir -p "$out"
train mha "$steps" --family llama --kv-heads 4
before=$(nats "$out/mha/last")

cat >"$out/table-regroup" <<END
| key/value heads | multi-head before | averaged | after $more more steps | so from the start |
|---|---|---|---|---|
END
for heads in 2 1; do
    name=gqa2
    [ "$heads" = 2 ] || name=mqa
    train "$name" "$steps" --family llama --kv-heads "$heads"
    "$jueju" regroup "$out/mha/last" --kv-heads "$heads" --out "$out/mha-kv$heads" --overwrite >&2
    # The schedule begins anew, at the usual rates: lower ones repair less in so few steps.
    "$jueju" train "$set" --resume-from "$out/mha-kv$heads" --out "$out/mha-kv$heads-on" \
        --overwrite --steps "$more" --seed "$seed" --eval-every "$more" >&2
    printf '| %d | %.4f | %.4f | %.4f | %.4f |\n' "$heads" "$before" \
        "$(nats "$out/mha-kv$heads")" "$(nats "$out/mha-kv$heads-on/last")" \
        "$(nats "$out/$name/last")" >>"$out/table-regroup"
done
echo "$steps steps, then $more; seed $seed; validation nats a body token"
echo
cat "$out/table-regroup"
