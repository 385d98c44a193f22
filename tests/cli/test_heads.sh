#!/bin/sh
# jueju heads as it is used: table, JSON, figure, page, mistakes.
# shellcheck disable=SC2154 # jueju, work, code come from lib.sh
. tests/cli/lib.sh

set=$work/sample
"$jueju" data --corpus sample --out "$set" >/dev/null 2>&1
tiny() { # OUT OPTION...
    out=$work/$1
    shift
    "$jueju" train "$set" --out "$out" --layers 2 --heads 2 --width 16 --context 40 \
        --batch-tokens 256 --steps 1 --eval-every 1 "$@" >/dev/null 2>&1
}
tiny run
tiny same --init identical-heads
has() { # KEY...: in the JSON of the last run
    for key in "$@"; do
        grep -q "\"$key\":" "$work/out" || {
            echo "no key $key"
            return 1
        }
    done
}
count() { # PATTERN NUMBER: so often in the last output
    found=$(grep -o -e "$1" "$work/out" | wc -l)
    [ "$found" -eq "$2" ] || {
        echo "expected $2 times '$1', found $found"
        return 1
    }
}

# ---- the table ----------------------------------------------------------------------
run "$jueju" heads "$work/run"
check "every head has a line" count '^[01]\.[01] ' 4
check "every layer has a verdict" count '^layer [01] .* heads in effect .*: ' 2
check "the set it was trained on is the probe" printed "validation poems of $set"
cp "$work/out" "$work/table"
run "$jueju" heads "$work/run" --threads 1
check "threads change nothing" cmp "$work/out" "$work/table"
run "$jueju" heads "$work/run" --poems 1
check "fewer poems are fewer tokens" printed "1 validation poems"
run "$jueju" heads "$work/same"
check "identical heads are told" printed "1.00 of 2 heads in effect .* all heads alike"

# ---- JSON ----------------------------------------------------------------------------
run "$jueju" heads "$work/run" --json --text 望月
check "tokens are the text's characters" printed '"tokens":\["<bos>","望","月"\],'
check "heads have the keys that others rely on" has entropy saturation sink previous induction role
check "layers too" has heads effective_heads min_pair_distance verdict
check "and the rest" has offsets line line_next duplicate rare induction_random scores norms \
    stable_rank distance cosine cka query_overlap key_overlap rank_residual probe thresholds
check "there are four heads" count '"role":' 4
if command -v python3 >/dev/null 2>&1; then
    check "it is JSON" python3 -m json.tool "$work/out" "$work/pretty"
fi

# ---- simplified characters, unknown ones ----------------------------------------------
run "$jueju" heads "$work/run" --json --text '举头望山月,低头思故乡.'
check "simplified input is read in the corpus' characters" \
    printed '"tokens":\["<bos>","舉","頭","望","山","月","，","低","頭","思","故","鄉","。"\]'
check "that is said" grep -q '举 read as 舉' "$work/err"
check "nothing is unknown" count '<unk>' 0
run "$jueju" heads "$work/run" --json --text '月😀'
check "what has no counterpart is" printed '"tokens":\["<bos>","月","<unk>"\]'
check "and that is said" grep -q 'does not know 😀' "$work/err"

# ---- figure and page ------------------------------------------------------------------
run "$jueju" heads "$work/run" --svg "$work/figure.svg" --html "$work/page.html"
check "figure and page are written" [ -s "$work/figure.svg" -a -s "$work/page.html" ]
well_formed() {
    if command -v xmllint >/dev/null 2>&1; then
        xmllint --noout "$1"
    elif command -v python3 >/dev/null 2>&1; then
        python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1"
    fi
}
check "the figure is well-formed" well_formed "$work/figure.svg"
check "it shows the last layer" grep -q 'Attention maps of layer 1' "$work/figure.svg"
check "with the characters on both axes" \
    [ "$(grep -o '>霜<' "$work/figure.svg" | wc -l)" -eq 4 ]
run "$jueju" heads "$work/run" --layer 0 --svg "$work/figure.svg"
check "another layer can be chosen" grep -q 'Attention maps of layer 0' "$work/figure.svg"

alone() { # the page asks nobody for anything
    ! grep -q -i -e 'https*:' -e ' src=' -e '@import' -e 'url(' -e '<link' "$1"
}
check "the page stands alone" alone "$work/page.html"
check "no place of the markup is left open" [ "$(grep -c '{{' "$work/page.html")" -eq 0 ]
check "a map has a weight for every pair" sh -c '
    sed -n "/id=\"weights-data\"/,/<.script>/p" "$1" | sed "1d;s/<.script>//" |
    awk "NF { lines++; if (length != 650) wrong++ } END { exit !(lines == 4 && !wrong) }"' \
    - "$work/page.html"

# ---- without a set --------------------------------------------------------------------
cp -r "$work/run" "$work/moved"
mv "$set" "$work/elsewhere"
run "$jueju" heads "$work/moved"
check "without its set the text is the probe" printed "on the given text alone, 25 tokens"
check "and that is said" grep -q 'note: no probe poems' "$work/err"
run "$jueju" heads "$work/moved" --set "$work/elsewhere"
check "the set can be named" printed "validation poems of $work/elsewhere"
run "$jueju" heads "$work/moved" --set "$set"
check "a set that is not there is an error when it was named" said 2 "$set"
run "$jueju" heads "$work/moved" --set ''
check "so is an empty name" said 2 "no such folder"
mv "$work/elsewhere" "$set"
printf 'x' >>"$set/val.bin"
run "$jueju" heads "$work/run"
check "a damaged set of its own is an error" said 2 "name another with --set.*val.bin"
truncate -s -1 "$set/val.bin"

# ---- running text ---------------------------------------------------------------------
printf 'a < b & c > d, </script><b>\n%.0s' $(seq 200) >"$work/text.txt"
"$jueju" data --stream "$work/text.txt" --out "$work/stream" >/dev/null 2>&1
"$jueju" train "$work/stream" --out "$work/prose" --layers 1 --heads 2 --width 16 \
    --context 40 --batch-tokens 256 --steps 1 --eval-every 1 >/dev/null 2>&1
run "$jueju" heads "$work/prose" --text 'a < b & </script>' --svg "$work/prose.svg" \
    --html "$work/prose.html" --json
check "a model of running text has no start" printed '"tokens":\["a"," ","<"," ","b"'
check "its figure is well-formed" well_formed "$work/prose.svg"
check "no text ends the page's script" [ "$(grep -c '</script>' "$work/prose.html")" -eq 3 ]
run "$jueju" heads "$work/prose" --set "$set" --text a
check "poems are no probe for it" said 2 "expected a set of running text"

# ---- other kinds of attention ----------------------------------------------------------
tiny grouped --family llama --kv-heads 1
run "$jueju" heads "$work/grouped" --json
check "heads of one group have the same keys" \
    printed '"key_overlap":\[\[1.0,1.0\],\[1.0,1.0\]\]'
tiny latent --family deepseek
run "$jueju" heads "$work/latent"
check "latent heads have figures, too" count '^[01]\.[01] ' 4

# ---- mistakes -------------------------------------------------------------------------
run "$jueju" heads "$work/run" --text ''
check "an empty text is a mistake" said 2 "--text: expected characters, found none"
run "$jueju" heads "$work/run" --text "$(printf '月%.0s' $(seq 40))"
check "a text longer than the context, too" said 2 "--text: expected at most 39 characters"
run "$jueju" heads "$work/run" --text "$(printf '月%.0s' $(seq 39))"
check "one that just fits is not" [ "$code" -eq 0 ]
run "$jueju" heads "$work/run" --layer 2
check "a layer that is not there" said 2 "--layer: expected -1 ... 1 (the last), found 2"
run "$jueju" heads "$work/nowhere"
check "a checkpoint that is not there" said 2 "nowhere"
run "$jueju" heads "$work/run" --html "$work/none/page.html"
check "a folder that is not there" said 1 "none/page.html"
printf '\377' >"$work/bad"
run "$jueju" heads "$work/run" --text "$(cat "$work/bad")"
check "text that is not UTF-8" said 2 "--text: expected UTF-8"
run "$jueju" heads "$work/run" --svg /dev/full
check "a full disk" said 1 "/dev/full"

finish
