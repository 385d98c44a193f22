# What the experiment scripts share; read by `. scripts/experiment.sh` from the project's
# root. From the environment: JUEJU (the program), SET (a prepared set), SEED, STEPS, OUT
# (folder of the runs), FRESH=1 (train again what is there).
# shellcheck shell=sh
set -eu

jueju=${JUEJU:-build/release-float/jueju}
set=${SET:-data/prepared/tang}
seed=${SEED:-1}
fresh=${FRESH:-0}

say() {
    echo "${0##*/}: $*" >&2
}

if [ ! -x "$jueju" ]; then
    say "$jueju is missing: make builds it"
    exit 2
fi
if [ ! -f "$set/stats.json" ]; then
    say "$set is no prepared set: jueju data makes one"
    exit 2
fi

# shellcheck disable=SC2154 # out is the calling script's
# Trains OUT/NAME, or goes on with it, or leaves it when it has ended.
train() { # NAME STEPS OPTION...
    folder=$out/$1
    steps=$2
    shift 2
    if [ "$fresh" = 1 ] || [ ! -d "$folder/last" ]; then
        "$jueju" train "$set" --out "$folder" --overwrite --steps "$steps" --seed "$seed" "$@" >&2
    elif [ "$(number step "$folder/last/training/state.json")" != "$steps" ]; then
        "$jueju" train "$set" --out "$folder" --resume >&2
    else
        say "$folder has its $steps steps already (FRESH=1 trains it again)"
    fi
}

# The first number of that name in a JSON file, or in standard input.
number() { # KEY [FILE]
    grep -o '"'"$1"'": *[0-9.e+-]*' ${2:+"$2"} | sed -n '1s/.*: *//p'
}

# Nats a body token over the whole validation split.
nats() { # CHECKPOINT
    "$jueju" eval "$1" --set "$set" --json | number nats
}

median() {
    sort -n | awk '{v[NR] = $1} END {print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'
}
