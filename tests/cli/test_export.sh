# jueju export and tokenize as they are used. What llama.cpp makes of the files: tests/interop.
# shellcheck shell=sh
. tests/cli/lib.sh

set=$work/sample
run "$jueju" data --corpus sample --out "$set"
tiny() { # NAME OPTION...
    name=$1
    shift
    run "$jueju" train "$set" --out "$work/$name" --layers 2 --heads 2 --width 16 --context 32 \
        --batch-tokens 256 --steps 2 --warmup 1 --eval-every 2 "$@"
}
tiny gpt2
check "a model to export" [ -f "$work/gpt2/best/model.safetensors" ]

# ---- GGUF ----------------------------------------------------------------------------
write() { # OPTION...
    run "$jueju" export "$@"
}
bytes() {
    wc -c <"$1"
}
none() { # FILE: nor anything that was on its way to become it
    for file in "$1"*; do
        [ ! -e "$file" ] || return 1
    done
}

gguf=$work/model.gguf
write "$work/gpt2" --gguf "$gguf"
check "a run is exported" printed "model.gguf: gpt2, f32, [0-9]* parameters"
check "the file is GGUF" [ "$(head -c 4 "$gguf")" = GGUF ]
check "the name is the run's" grep -q -a 'general.name.*gpt2' "$gguf"
write "$work/gpt2/best" --gguf "$work/again.gguf"
check "again, from best itself: the same bytes" cmp "$gguf" "$work/again.gguf"
write "$work/gpt2" --gguf "$work/half.gguf" --dtype f16
check "f16 is smaller" [ "$(bytes "$work/half.gguf")" -lt "$(bytes "$gguf")" ]

write "$work/gpt2"
check "what to write must be said" said 2 'say what to write: --gguf FILE'
write "$work/none" --gguf "$work/none.gguf"
check "a checkpoint that is not there" said 2 "$work/none"
check "leaves no file" none "$work/none.gguf"
write "$work/gpt2" --gguf "$work/none.gguf" --dtype q4
check "a number type that is not there" said 2 "--dtype.*f32.*f16"
write "$work/gpt2" --gguf "$work/no/such/folder.gguf"
check "a folder that is not there" said 1 'no/such/folder.gguf'
write "$work/gpt2" --gguf "$work"
check "a folder is no file" said 2 "expected a file, found a folder"
if [ -c /dev/full ]; then
    write "$work/gpt2" --gguf /dev/full
    check "a full disk is noticed" said 1 '/dev/full'
fi

# ---- other families ------------------------------------------------------------------
for family in llama deepseek; do
    tiny "$family" --family "$family"
    write "$work/$family" --gguf "$work/$family.gguf"
    check "$family is exported" printed "$family.gguf: $family"
done
tiny post --norm-place after
write "$work/post" --gguf "$work/none.gguf"
check "post-norm is refused with the reason" said 2 'llama.cpp has no architecture for this model: .*post-norm'
tiny window --family llama --window 8
write "$work/window" --gguf "$work/none.gguf"
check "windows are refused with the reason" said 2 'layer 0 sees a window of 8 tokens'
check "and leave no file" none "$work/none.gguf"

# ---- tokens --------------------------------------------------------------------------
piped() { # TEXT OPTION...
    text=$1
    shift
    printf "$text" | "$jueju" tokenize "$@" >"$work/out" 2>"$work/err"
    code=$?
}

piped '，。\n\n☃，' "$set"
check "a list a line, 0 for what has no token" printed '^\[6,7\]$'
check "an empty line is an empty list" printed '^\[\]$'
check "a last line without an end" printed '^\[0,6\]$'
cp "$work/out" "$work/ids"
piped '，。\n\n☃，' "$work/gpt2"
check "a run reads as its set does" cmp "$work/out" "$work/ids"
piped '[6,7]\n[]\n[1,6,0,2]\n' "$set" --decode
check "back to text" [ "$(cat "$work/out")" = "$(printf '，。\n\n，')" ]
# NFC: a decomposed e and its accent are one character.
piped 'e\314\201\n' "$set"
check "text is composed" printed '^\[0\]$'
piped 'ab\n\377\n' "$set"
check "bytes that are no UTF-8 are named" said 2 'standard input, line 2: invalid UTF-8 at byte 0'
for ids in '[6,' '{}' '6' ''; do
    piped "[]\n$ids\n" "$set" --decode
    check "no list: '$ids'" said 2 'line 2: expected a list of token ids'
done
for id in -1 65536 6.5 '"6"' null; do
    piped "[6,$id]\n" "$set" --decode
    check "no id: $id" said 2 'line 1: expected ids from 0 to .* number 2 is none'
done
run "$jueju" tokenize "$work/none"
check "a folder without a tokenizer" said 2 "$work/none"

finish
