#!/bin/sh
# From nothing to poems: what `make train` and `make quick` call.
#
#   scripts/train.sh default|quick
#
# Installs what is missing, builds, fetches the poems, prepares them, trains, and prints the
# validation loss and four poems. From the environment (make exports what its command line
# sets): MAKE, BUILD, NAME (of the run), ARGS (for jueju train), FRESH=1, NO_INSTALL=1.
#
# The rule for what is there already: an unfinished run goes on; a finished one stays, and
# FRESH=1 starts anew and keeps the old run under a number.
set -eu
cd "$(dirname "$0")/.."

recipe=${1:-default}
make=${MAKE:-make}
build=${BUILD:-build/release-float}
jueju=$build/jueju
fresh=${FRESH:-0}

say() {
    echo "train: $*" >&2
}

# --- program and data ---------------------------------------------------------------

scripts/deps.sh build
unset MAKEFLAGS MFLAGS MAKELEVEL # of the make that called: this one decides for itself
$make --no-print-directory BUILD="$build" all >&2

# The set is prepared again when the code that prepares it has changed since.
prepared() { # SET
    [ -f "data/prepared/$1/stats.json" ] &&
        [ -z "$(find data -maxdepth 1 -name '*.[ch]' -newer "data/prepared/$1/stats.json" | head -n 1)" ]
}

set=tang
if ! prepared tang; then
    code=0
    scripts/fetch_corpus.sh || code=$?
    case $code in
    0) "$jueju" data --corpus tang ;;
    3)
        set=sample
        say "training on the few poems of data/sample/ instead of the Tang poems"
        prepared sample || "$jueju" data --corpus sample
        ;;
    *) exit $code ;;
    esac
fi

# --- the run ------------------------------------------------------------------------

case $recipe in
default) name=${NAME:-$set} ;;
quick) name=${NAME:-$set-quick} ;;
*)
    say "unknown recipe '$recipe': expected default or quick"
    exit 2
    ;;
esac
run=checkpoints/$name

# Written when a run has ended by itself; it counts only while nothing newer was saved.
finished() {
    [ -f "$run/finished" ] && [ -f "$run/last/config.json" ] &&
        [ -z "$(find "$run/last" -newer "$run/finished" -type f | head -n 1)" ]
}

if [ "$fresh" != 0 ] && [ -e "$run" ]; then
    number=1
    while [ -e "$run.$number" ]; do
        number=$((number + 1))
    done
    mv "$run" "$run.$number"
    say "starting anew; the old run is kept as $run.$number"
fi

stopped=0
trap 'stopped=1' INT TERM
if finished; then
    say "$run is finished; FRESH=1 starts anew and keeps it: make train FRESH=1"
else
    set -- "data/prepared/$set" --name "$name" --out "$run"
    if [ -e "$run/last" ] || [ -e "$run/last.old" ]; then
        say "going on with the unfinished run $run (FRESH=1 starts anew)"
        set -- "$@" --resume
    elif [ $recipe = quick ]; then
        set -- "$@" --steps 500 --warmup 50 --eval-every 100
    elif [ $set = sample ]; then
        # A few hundred poems are learned by heart long before the default's last step.
        set -- "$@" --steps 200 --warmup 20 --eval-every 20
    fi
    code=0
    # shellcheck disable=SC2086 # ARGS is a list of words
    "$jueju" train "$@" ${ARGS:-} || code=$?
    if [ $code -ne 0 ]; then
        if [ $code -eq 130 ] || [ $stopped -eq 1 ]; then
            say "stopped; the same command goes on from $run/last"
        fi
        exit $code
    fi
    touch "$run/finished"
fi

# --- what came of it ----------------------------------------------------------------

echo
"$jueju" eval "$run/best"
echo
"$jueju" sample "$run/best" --count 4
