#!/bin/sh
# How tokens a second and memory grow with each size: one size at a time, the others as the
# default model's, about 8192 tokens a step. Prints Markdown tables.
#
#   tests/bench/growth.sh [T C V L B]       default: all five
#
# "slope" is d log(seconds a token) / d log(size) against the row above: 0 means that the
# size costs nothing, 1 that the time grows in proportion.
set -eu
cd "$(dirname "$0")/../.."

jueju=${JUEJU:-build/release-float/jueju}

measure() { # OPTION...
    "$jueju" bench --no-phases --steps 3 --json "$@"
}

number() { # KEY, from standard input
    sed -n 's/.*"'"$1"'": \([0-9.e+-]*\).*/\1/p'
}

table() { # LETTER OPTION VALUE...
    letter=$1
    option=$2
    shift 2
    echo
    echo "| $letter | tokens/s | slope | of peak | MB |"
    echo "|---|---|---|---|---|"
    before=
    for value in "$@"; do
        rows=64
        [ "$letter" != T ] || rows=$((8192 / value))
        [ "$letter" != B ] || rows=$value
        set -- "$option" "$value"
        [ "$letter" != B ] || set --
        result=$(measure "$@" --rows "$rows")
        speed=$(echo "$result" | number tokens_per_second)
        share=$(echo "$result" | number share_of_peak)
        bytes=$(echo "$result" | number peak_rss_bytes)
        echo "$value $speed $share $bytes $before" | awk '{
            slope = NF > 4 ? sprintf("%.2f", log($6 / $2) / log($1 / $5)) : ""
            printf "| %d | %.0f | %s | %.0f%% | %.0f |\n", $1, $2, slope, 100 * $3, $4 / 1e6}'
        before="$value $speed"
    done
}

for letter in ${*:-T C V L B}; do
    case $letter in
    T) table T --context 64 128 256 512 1024 2048 4096 ;;
    C) table C --width 64 128 256 384 512 768 ;;
    V) table V --vocab 1000 2000 4000 8000 16000 32000 ;;
    L) table L --layers 2 4 6 8 12 ;;
    B) table B --rows 8 16 32 64 128 256 ;;
    *)
        echo "growth: unknown size '$letter': expected T, C, V, L or B" >&2
        exit 2
        ;;
    esac
done
