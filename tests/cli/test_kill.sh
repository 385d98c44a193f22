# A run that is killed (kill -9) again and again and resumed each time ends with the bits of a
# run that was never stopped, and after every kill its newest checkpoint loads.
# shellcheck shell=sh
. tests/cli/lib.sh

kills=24
set=$work/sample
out=$work/killed
log=$out/metrics.jsonl
run "$jueju" data --corpus sample --out "$set"
check "the sample is prepared" [ -f "$set/train.bin" ]

# A checkpoint after every second step: a large part of the time goes into saving.
in_place= # exec: the shell becomes the program, so that its process can be killed
train() { # OUT OPTION...
    folder=$1
    shift
    $in_place "$jueju" train "$set" --out "$folder" --layers 1 --heads 2 --width 16 \
        --context 32 --batch-tokens 128 --dropout 0.1 --steps 160 --warmup 10 \
        --eval-every 2 --log-every 3 "$@"
}
has_checkpoint() {
    [ -e "$out/last" ] || [ -e "$out/last.old" ]
}
go_on() { # OPTION...: from where it is, or from nothing before the first checkpoint
    if has_checkpoint; then
        train "$out" --resume "$@"
    else
        train "$out" --overwrite "$@"
    fi
}

run train "$work/whole" --threads 2
check "a run that nobody stops ends" printed '^validation: '

same_bits() {
    for file in last/model.safetensors last/training/optimizer.safetensors \
        best/model.safetensors; do
        cmp "$work/whole/$file" "$out/$file" || return 1
    done
}

# 0.000 .. 0.399 s from a generator of its own.
random=12345
next_moment() {
    random=$(((random * 1103515245 + 12345) % 2147483648))
    moment=$(printf '0.%03d' $((random / 65536 % 400)))
}
# Waits until the run has written its log, which it does before its first step.
begun() { # PROCESS
    while [ -z "$(find "$log" -newer "$work/mark" 2>/dev/null)" ] && kill -0 "$1" 2>/dev/null; do
        sleep 0.01
    done
}

killed=0
loaded=0
saved=0
finished=0
while [ $killed -lt $kills ]; do
    touch "$work/mark"
    (
        in_place="exec"
        go_on --threads $((1 + killed % 3)) >/dev/null 2>"$work/err"
    ) &
    process=$!
    next_moment
    # Every fourth is killed wherever it is while it starts, the others in their work.
    [ $((killed % 4)) -eq 3 ] || begun $process
    sleep "$moment"
    kill -9 $process 2>/dev/null
    wait $process 2>/dev/null
    code=$?
    if [ $code -eq 0 ] && same_bits && [ $finished -lt $kills ]; then
        finished=$((finished + 1)) # on a fast machine: once more from nothing
        rm -rf "$out"
        continue
    fi
    if [ $code -ne 137 ]; then
        echo "expected a killed run, found exit code $code:"
        cat "$work/err"
        break
    fi
    killed=$((killed + 1))
    if has_checkpoint; then
        saved=$((saved + 1))
        run "$jueju" eval "$out/last"
        if [ "$code" -eq 0 ]; then
            loaded=$((loaded + 1))
        else
            cat "$work/err"
        fi
    fi
done
check "it was killed $kills times" [ $killed -eq $kills ]
check "most of them after a checkpoint" [ $saved -ge $((kills / 2)) ]
check "after each kill the newest checkpoint loaded" [ $loaded -eq $saved ]

run go_on
check "the last resume runs to the end" printed '^validation: '
check "model, moments and best have the bits of a run that was never stopped" same_bits
steps() { # LOG
    sed 's/^{"step":\([0-9]*\),.*}$/\1/' "$1"
}
steps "$work/whole/metrics.jsonl" >"$work/steps"
steps "$log" >"$work/found"
check "the log has each step once" cmp "$work/steps" "$work/found"
check "nothing half written is left" [ -z "$(find "$out" -name '*.tmp.*')" ]

finish
