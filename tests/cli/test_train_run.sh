# jueju train and gradcheck as they are used: runs, resumes, mistakes.
# shellcheck shell=sh
. tests/cli/lib.sh

set=$work/sample
run "$jueju" data --corpus sample --out "$set"
check "the sample is prepared" [ -f "$set/train.bin" ]

# A tiny model; a run of 12 steps saves after steps 4, 8 and 12.
train() { # OUT OPTION...
    out=$work/$1
    shift
    run "$jueju" train "$set" --out "$out" "$@"
}
tiny() { # OUT OPTION...
    out=$1
    shift
    train "$out" --layers 1 --heads 2 --width 16 --context 32 --batch-tokens 256 \
        --dropout 0.1 --steps 12 --warmup 2 --eval-every 4 --log-every 2 "$@"
}
same() { # RUN RUN: the same weights and moments
    for file in model.safetensors training/optimizer.safetensors; do
        cmp "$work/$1/last/$file" "$work/$2/last/$file" || return 1
    done
}
nothing() { # PATH
    [ ! -e "$1" ]
}

# ---- a run ---------------------------------------------------------------------------
tiny whole --threads 1
check "a run prints its validation loss" printed '^validation: [0-9.]* nats a body token at step'
check "and where it is" printed "^saved: $work/whole/best"
check "it names threads and kernels" grep -q '^machine: 1 thread, OpenBLAS' "$work/err"
check "it names the model" grep -q '^model: gpt2, L1 H2 C16 T32 F64 V' "$work/err"
check "it tells the gradient's norm and the rate" grep -q 'step 4/12 .* norm .* tokens/s' "$work/err"
check "every evaluation is told" [ "$(grep -c 'validation .* nats' "$work/err")" -eq 3 ]
check "and the heads" grep -q 'heads: entropy .* distance' "$work/err"
check "the log has a line a record" [ "$(wc -l <"$work/whole/metrics.jsonl")" -eq 6 ]
run "$jueju" eval "$work/whole/best" --json
check "best can be evaluated by itself" printed '"nats"'
run "$jueju" sample "$work/whole/last" --count 1
check "last can be sampled from" [ "$code" -eq 0 ]

for threads in 2 3; do
    tiny "threads$threads" --threads $threads
    check "$threads threads give the same bits" same whole "threads$threads"
done
differ() { # RUN RUN
    ! cmp -s "$work/$1/last/model.safetensors" "$work/$2/last/model.safetensors"
}
tiny seed --seed 2
check "another seed gives another model" differ whole seed

# ---- where there is a run already ----------------------------------------------------
cp -r "$work/whole" "$work/kept"
tiny whole
check "a run is not overwritten by mistake" said 2 "whole holds a run already: --resume .* --overwrite"
train whole --resume
check "a finished run can be resumed: nothing happens" printed '^validation: '
check "and it stays as it was" same whole kept
check "its log too" cmp "$work/whole/metrics.jsonl" "$work/kept/metrics.jsonl"
train whole --resume --width 32
check "a conflicting option is named" said 2 '^jueju: --width differs from what this run was started with'
train whole --resume --steps 12 -C16 --threads 2
check "options that agree are fine" [ "$code" -eq 0 ]
train whole --resume --overwrite
check "--resume and --overwrite exclude each other" said 2 '--resume and --overwrite'
train none --resume
check "nothing to resume" said 2 "there is no checkpoint $work/none/last"
check "and nothing is made" nothing "$work/none"
tiny whole --overwrite --steps 4
check "--overwrite starts anew" [ "$(wc -l <"$work/whole/metrics.jsonl")" -eq 2 ]

# ---- mistakes ------------------------------------------------------------------------
run "$jueju" train "$work/nowhere" --out "$work/none"
check "an unknown set" said 2 "$work/nowhere"
run "$jueju" train "$work" --out "$work/none"
check "a folder that is no set" grep -q "^jueju: $work/stats.json: " "$work/err"
tiny none --heads 3
check "a width that heads do not divide" said 2 'multiple of the number of heads'
tiny none --batch-tokens 31
check "a batch smaller than a row" said 2 'batch of 31 tokens'
tiny none --batch-tokens 1000000000
check "a batch larger than the set" [ "$code" -eq 2 ]
tiny none --lanes 3
check "lanes that are no power of two" said 2 'power of two'
tiny none --rate nan
check "a rate that is no number" said 2 '--rate: expected a number'
tiny none --optimizer sgd
check "an optimizer that is not there" said 2 '--optimizer'
check "mistakes make no folder" nothing "$work/none"
run "$jueju" train "$set" --out ''
check "an empty folder" said 2 '--out'
run "$jueju" train "$set" --name ''
check "an empty name" said 2 '--name'
tiny sample/stats.json
check "a file where the folder should be" said 2 "sample/stats.json"

# ---- another set, damage -------------------------------------------------------------
run "$jueju" data --corpus sample --seed 5 --out "$work/other"
run "$jueju" train "$work/other" --out "$work/kept" --resume
check "a run on other data is refused" said 2 'other data'
cp -r "$work/kept" "$work/damaged"
head -c 100 "$work/kept/last/training/optimizer.safetensors" \
    >"$work/damaged/last/training/optimizer.safetensors"
train damaged --resume
check "damaged moments are named" said 2 'damaged/last/training/optimizer.safetensors'
echo '{' >"$work/damaged/last/training/state.json"
train damaged --resume
check "a damaged state is named" said 2 'damaged/last/training/state.json'

# ---- the set's name is the run's -----------------------------------------------------
mkdir "$work/here"
(cd "$work/here" && "$jueju" train "$set/" --layers 1 --heads 1 --width 8 --context 32 \
    --batch-tokens 64 --steps 1 >/dev/null 2>"$work/err")
check "sample/ trains checkpoints/sample" [ -d "$work/here/checkpoints/sample/best" ]

# ---- Ctrl-C --------------------------------------------------------------------------
# Waits until a run that goes on in the background has logged its first step.
begun() { # RUN
    tries=0
    while ! [ -s "$work/$1/metrics.jsonl" ] && [ $tries -lt 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    [ -s "$work/$1/metrics.jsonl" ]
}
long="--layers 1 --heads 2 --width 16 --context 32 --batch-tokens 256 --dropout 0.1 \
    --steps 300 --eval-every 100 --log-every 1"
# shellcheck disable=SC2086 # a list of words
train long $long
# A shell without job control has what it runs in the background ignore SIGINT, and what was
# ignored stays so (nohup): env gives it back, where it can; SIGTERM does the same.
for signal in TERM INT; do
    env="env --default-signal=INT"
    if ! $env true 2>/dev/null; then
        [ $signal = TERM ] || continue
        env=
    fi
    # shellcheck disable=SC2086
    $env "$jueju" train "$set" --out "$work/$signal" $long >/dev/null 2>"$work/err" &
    process=$!
    check "$signal: the run begins" begun $signal
    kill -s $signal $process
    wait $process
    code=$?
    check "$signal saves and ends with 130" said 130 "stopped after step .*, saved in .*/last"
    train $signal --resume
    check "$signal: it goes on" grep -q 'going on after step' "$work/err"
    check "$signal: with the bits of a run that was never stopped" same long $signal
done

# ---- two at once ---------------------------------------------------------------------
# shellcheck disable=SC2086
"$jueju" train "$set" --out "$work/busy" $long --steps 100000 >/dev/null 2>&1 &
process=$!
begun busy
# shellcheck disable=SC2086
train busy $long --overwrite
check "a second run in the same folder is refused" said 2 'busy is in use by another process'
kill -s TERM $process
wait $process

# ---- a run that goes wrong -----------------------------------------------------------
train wrong --layers 1 --heads 2 --width 16 --context 32 --batch-tokens 256 --optimizer adamw \
    --rate 10 --decay 100 --warmup 0 --steps 200 --eval-every 2 --log-every 1
check "a loss that is not finite names step, tensor and rate" \
    said 1 'step [0-9]*: .*transformer\..*learning rate was'
run "$jueju" eval "$work/wrong/last"
check "the last good checkpoint loads" [ "$code" -eq 0 ]

# ---- gradcheck -----------------------------------------------------------------------
double=$(dirname "$jueju" | sed 's/-float$//')-double/jueju
if [ -x "$double" ]; then
    run "$jueju" gradcheck -L1 -H1 -C6 -T4 -F5 -V7
    check "gradcheck hands over to the double build" printed '^worst [0-9.]*e-[01]'
    check "it lists the input embedding" printed '^input embedding'
    run "$jueju" gradcheck -L1 -H2 -C6 -T4 -F5 -V7 --samples 3 --json
    check "gradcheck --json" printed '"worst": .*"tensor": .*"tensors": {'
    run "$jueju" gradcheck -H5
    check "gradcheck: a width that heads do not divide" said 2 'multiple of the number of heads'
else
    run "$jueju" gradcheck
    check "gradcheck without the double build says how to get it" said 2 'make gradcheck'
fi

finish
