#!/bin/sh
# Other programs read what jueju writes: llama.cpp its GGUF files, Hugging Face's tokenizers
# its tokenizer.json. README.md says what is compared and how.
#
#   JUEJU=build/.../jueju tests/interop/run.sh [FAMILY...]      default: gpt2 llama deepseek
#
# gpt2 is checkpoints/tang when it is there; the others, and gpt2 without it, are small
# models trained here for STEPS (150) steps, once: they stay in build/interop/.
set -eu
cd "$(dirname "$0")/../.."

jueju=${JUEJU:-build/release-float/jueju}
steps=${STEPS:-150}
folder=tests/interop
work=build/interop

if ! command -v npm >/dev/null 2>&1 || ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then
    echo "interop: needs npm and node 20 or newer (Debian 12 has 18; npm's package node has newer ones)" >&2
    exit 2
fi

# Without the packages' own scripts, which would look for other builds of llama.cpp, and
# without those for graphics cards.
stamp=$folder/node_modules/.installed
if ! cmp -s "$folder/package-lock.json" "$stamp"; then
    npm ci --prefix "$folder" --ignore-scripts --omit=optional --no-audit --no-fund >&2
    cp "$folder/package-lock.json" "$stamp"
fi

mkdir -p "$work"
set_folder=data/prepared/tang
if [ ! -d "$set_folder" ]; then
    set_folder=$work/sample
    [ -d "$set_folder" ] || "$jueju" data --corpus sample --out "$set_folder" >&2
fi

failed=0
[ $# -gt 0 ] || set -- gpt2 llama deepseek
for family in "$@"; do
    checkpoint=$work/$family
    if [ "$family" = gpt2 ] && [ -d checkpoints/tang ]; then
        checkpoint=checkpoints/tang
    elif [ ! -e "$checkpoint/best" ]; then # saved at the end only
        "$jueju" train "$set_folder" --family "$family" --out "$checkpoint" --overwrite \
            --steps "$steps" --warmup 20 --eval-every "$steps" >&2
    fi
    for dtype in f32 f16; do
        "$jueju" export "$checkpoint" --gguf "$work/$family-$dtype.gguf" --dtype $dtype >&2
    done
    node "$folder/interop.mjs" "$jueju" "$family" "$checkpoint" "$work/$family" || failed=1
done
exit $failed
