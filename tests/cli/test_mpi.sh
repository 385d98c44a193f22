# Several ranks under mpirun: the bits of a run without MPI, stops, deaths and mistakes.
# JUEJU_MPI names the program of `make MPI=1`; `make test` builds it where mpicc is.
# shellcheck shell=sh
. tests/cli/lib.sh

set=$work/sample
run "$jueju" data --corpus sample --out "$set"
check "the sample is prepared" [ -f "$set/train.bin" ]

# 24 steps, records every 3 and checkpoints every 8, the last ones after step 24.
tiny="--layers 1 --heads 2 --width 16 --context 32 --batch-tokens 256 --dropout 0.1 \
    --warmup 2 --log-every 3"
short="$tiny --steps 24 --eval-every 8"
nothing() { # PATH
    [ ! -e "$1" ]
}

# ---- a program without MPI -----------------------------------------------------------
run "$jueju" --version
check "a plain build does not speak of MPI" [ -z "$(grep MPI "$work/out")" ]
# shellcheck disable=SC2086 # lists of words, here and below
run env OMPI_COMM_WORLD_SIZE=2 "$jueju" train "$set" --out "$work/none" $short
check "copies that know nothing of each other are refused" said 2 '^jueju: 2 copies .*make MPI=1'
check "and make no folder" nothing "$work/none"
# shellcheck disable=SC2086
run env OMPI_COMM_WORLD_SIZE=1 "$jueju" train "$set" --out "$work/plain" $short
check "one copy may train" printed '^validation: '

mpi=${JUEJU_MPI:-}
case $mpi in
'') ;;
/*) ;;
*) mpi=$PWD/$mpi ;;
esac
if [ -z "$mpi" ] || ! command -v mpirun >/dev/null 2>&1; then
    echo "skipped: the rest needs mpicc, mpirun and a release build (scripts/deps.sh mpi)"
    finish
fi

# ---- how ranks are started -----------------------------------------------------------
root=
[ "$(id -u)" -ne 0 ] || root=--allow-run-as-root
# More ranks than processors; what has failed is ended at once, not after two seconds.
mpirun="mpirun $root --oversubscribe --mca odls_base_sigkill_timeout 0"
# Each rank leaves its process id, so that a test can find it.
cat >"$work/rank" <<'END'
echo $$ >"$RANKS/pid.$OMPI_COMM_WORLD_RANK"
exec "$@"
END
export RANKS="$work"
rank="sh $work/rank $mpi train"
ranks() { # COUNT OUT OPTION...
    count=$1
    out=$work/$2
    shift 2
    # shellcheck disable=SC2086
    run $mpirun -n "$count" $rank "$set" --out "$out" "$@"
}
once() { # PATTERN FILE
    [ "$(grep -c -e "$1" "$2")" -eq 1 ] || {
        echo "expected '$1' once in:"
        cat "$2"
        return 1
    }
}
# Everything that two runs left is the same, but for the times in it.
timeless() { # RUN
    for file in $(cd "$work/$1" && find . -type f | LC_ALL=C sort); do
        echo "$file"
        case $file in
        *.safetensors) cksum <"$work/$1/$file" ;;
        *) sed 's/"tokens_per_second":[^,}]*//; s/"seconds": *[^,}]*//' "$work/$1/$file" ;;
        esac
    done
}
same() { # RUN RUN
    timeless "$1" >"$work/expected"
    timeless "$2" >"$work/found"
    cmp "$work/expected" "$work/found"
}

run "$mpi" --version
check "a build with MPI says so" printed '^jueju .*MPI'

# ---- the same bits -------------------------------------------------------------------
for count in 1 2 3 4; do
    # shellcheck disable=SC2086
    ranks $count "ranks$count" $short
    check "$count ranks: the files of a run without MPI" same plain "ranks$count"
    check "$count ranks: told once" once "^machine: $count rank.* on 1 host (.*MPI.*thread" "$work/err"
    check "$count ranks: one result" once '^validation: ' "$work/out"
done
# shellcheck disable=SC2086
run "$mpi" train "$set" --out "$work/alone" $short
check "without mpirun: the same" same plain alone

# ---- only rank 0 needs the folder ----------------------------------------------------
# shellcheck disable=SC2086
run $mpirun -n 1 $rank "$set" --out "$work/apart" $short : \
    -n 1 $rank "$set" --out "$work/elsewhere" $short
check "rank 0's folder has the run" same plain apart
check "rank 1 writes nothing" nothing "$work/elsewhere"

# ---- stops ---------------------------------------------------------------------------
# SIGUSR1 reaches all ranks through mpirun; SIGTERM only the one rank that it is sent to.
begun() { # RUN
    tries=0
    while ! [ -d "$work/$1/last" ] && [ $tries -lt 1000 ]; do
        sleep 0.03
        tries=$((tries + 1))
    done
    [ -d "$work/$1/last" ]
}
start() { # COUNT OUT OPTION...
    count=$1
    out=$work/$2
    shift 2
    rm -f "$work"/pid.*
    # shellcheck disable=SC2086
    $mpirun -n "$count" $rank "$set" --out "$out" "$@" >"$work/out" 2>"$work/err" </dev/null &
    process=$!
}
# The ranks end with mpirun, or in a moment. What nobody has waited for yet (Z) has ended.
runs() { # PROCESS
    kill -0 "$1" 2>/dev/null && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}
gone() {
    for file in "$work"/pid.*; do
        tries=0
        while runs "$(cat "$file")"; do
            tries=$((tries + 1))
            [ $tries -lt 100 ] || return 1
            sleep 0.05
        done
    done
}
long="$tiny --steps 600 --eval-every 60"
# shellcheck disable=SC2086
run "$jueju" train "$set" --out "$work/long" $long
for signal in USR1 TERM; do
    # shellcheck disable=SC2086
    start 3 $signal $long
    check "$signal: the run begins" begun $signal
    if [ $signal = USR1 ]; then
        kill -s USR1 $process
    else
        kill -s TERM "$(cat "$work/pid.1")"
    fi
    wait $process
    code=$?
    check "$signal ends all ranks with 130" said 130 "^jueju: stopped after step .*/$signal/last"
    check "$signal: no rank is left" gone
done
ranks 2 USR1 --resume
check "two ranks go on where three stopped" grep -q 'going on after step' "$work/err"
check "with the bits of a run that was never stopped" same long USR1

# ---- deaths --------------------------------------------------------------------------
for victim in 0 2; do
    rm -rf "$work/killed"
    # shellcheck disable=SC2086
    start 3 killed $long
    begun killed
    kill -9 "$(cat "$work/pid.$victim")"
    wait $process
    code=$?
    check "the death of rank $victim ends the run and is told" said 137 "rank $victim .*signal 9"
    check "no other rank is left" gone
    run "$jueju" eval "$work/killed/last"
    check "the newest checkpoint loads" [ "$code" -eq 0 ]
done
run "$jueju" train "$set" --out "$work/killed" --resume
check "a run that a death ended goes on to the same end, without MPI" same long killed

# ---- mistakes, each told once, by name -----------------------------------------------
differ() { # SET-AND-OPTIONS-OF-RANK-1: rank 0 has the usual ones
    # shellcheck disable=SC2086
    run $mpirun -n 1 $rank "$set" --out "$work/none" $short : -n 1 $rank $1 --out "$work/none"
}
ranks 3 none --lanes 2
check "more ranks than lanes" said 2 '^jueju: 3 ranks cannot share 2 lanes: raise --lanes'
check "... is told once" once '^jueju: ' "$work/err"
ranks 2 none --widht 3
check "a wrong option" said 2 'unknown option --widht'
check "... is told once" once '^jueju: ' "$work/err"
differ "$work/nowhere $short"
check "a set that one rank does not have" said 2 "^jueju: rank 1 of 2 on .*: $work/nowhere"
run "$jueju" data --corpus sample --seed 5 --out "$work/other"
differ "$work/other $short"
check "another set on one rank" said 2 '^jueju: rank 1 of 2 on .*the training data'
differ "$set $short --rate 0.5"
check "another option on one rank" said 2 '^jueju: rank 1 of 2 on .*--rate must be the same'
differ "$set $short --resume"
check "--resume on one rank" said 2 '^jueju: rank 1 of 2 on .*--resume'
check "mistakes make no folder" nothing "$work/none"
ranks 2 plain
check "a run that is there already" said 2 'plain holds a run already'
ranks 2 sample/stats.json
check "a folder that cannot be made" said 2 'sample/stats.json'
ranks 2 wrong --layers 1 --heads 2 --width 16 --context 32 --batch-tokens 256 \
    --optimizer adamw --rate 10 --decay 100 --warmup 0 --steps 200 --eval-every 2
check "a loss that is not finite" said 1 '^jueju: step [0-9]*: .*learning rate was'
run "$jueju" eval "$work/wrong/last"
check "the last good checkpoint loads" [ "$code" -eq 0 ]

finish
