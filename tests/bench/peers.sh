#!/bin/sh
# Ours against PyTorch: the same model, batch and step, on the same threads and OpenBLAS.
#
#   tests/bench/peers.sh [ROUNDS]          default 5
#
# First both compute loss and gradients from the same weights, which must agree to 1e-4.
# Then they train in turn, ROUNDS times; medians, spread and the ratio are printed. PyTorch
# runs twice: as it is installed, and tuned (fitting BLAS kernels, bound threads, memory
# kept instead of given back). THREADS= and ROWS= (64) may be set.
set -eu
cd "$(dirname "$0")/../.."

rounds=${1:-5}
threads=${THREADS:-$(nproc)}
rows=${ROWS:-64}
steps=3
jueju=${JUEJU:-build/release-float/jueju}
python=${PYTHON:-/usr/bin/python3}

if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "peers: $python has no torch (Debian: apt-get install python3-torch)" >&2
    exit 2
fi

dump=$(mktemp -d)
trap 'rm -rf "$dump"' EXIT
trap 'exit 130' INT TERM

"$jueju" bench --dump "$dump" --rows "$rows" --threads "$threads"
peer="$python tests/bench/peer_torch.py $dump"

installed() {
    env -u OMP_PROC_BIND -u OPENBLAS_CORETYPE OMP_NUM_THREADS="$threads" $peer "$@"
}

# OpenBLAS 0.3.21 needs to be told of CPUs that are newer than itself.
tuned() {
    env OMP_NUM_THREADS="$threads" OMP_PROC_BIND=close OPENBLAS_CORETYPE="${CORETYPE:-SkylakeX}" \
        MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=8000000000 MALLOC_TOP_PAD_=268435456 \
        LD_LIBRARY_PATH="$(echo /usr/lib/*/openblas-openmp):${LD_LIBRARY_PATH:-}" $peer "$@"
}

ours() {
    "$jueju" bench --rows "$rows" --threads "$threads" --steps "$steps" --no-phases --json |
        sed -n 's/.*"tokens_per_second": \([0-9.e+]*\).*/\1/p'
}

echo "check: $(uname -m), $threads threads, $rows rows"
tuned check

round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    ours >>"$dump/ours"
    tuned time "$steps" >>"$dump/tuned"
    installed time 1 >>"$dump/installed"
done

median() {
    sort -n "$1" | awk '{v[NR] = $1} END {print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'
}

line() { # NAME FILE
    sort -n "$2" | awk -v name="$1" -v median="$(median "$2")" -v ours="$(median "$dump/ours")" '
        NR == 1 {low = $1} {high = $1}
        END {printf "%-22s %8.0f tokens/s (%.0f to %.0f)   ours is %.2f x\n",
             name, median, low, high, ours / median}'
}

line "jueju" "$dump/ours"
line "PyTorch, tuned" "$dump/tuned"
line "PyTorch, as installed" "$dump/installed"
"$python" -c 'import torch; print("PyTorch", torch.__version__)'
