#!/bin/sh
# Fails on an #include that runs against the allowed direction:
#
#   scripts -> train -> { model, data }        data -> model/base only
#   inside model:  heads, generate -> gpt -> attention -> layers -> math -> base
#
#   scripts/check_layers.sh [FOLDER]           the project's root by default
#
# Includes name files from the root; only model/math/blas.c knows cblas.h.
set -eu
cd "${1:-$(dirname "$0")/..}"

folders=
for folder in model data train scripts; do
    [ ! -d "$folder" ] || folders="$folders $folder"
done
[ -n "$folders" ] || {
    echo "check_layers: no model, data, train or scripts in $PWD" >&2
    exit 1
}

# shellcheck disable=SC2086 # a list of words
find $folders -type f \( -name '*.c' -o -name '*.h' \) | LC_ALL=C sort | awk '
function layer(path,   part) {
    split(path, part, "/")
    return part[1] == "model" ? part[1] "/" part[2] : part[1]
}
BEGIN {
    base = "model/base"
    math = base " model/math"
    layers = math " model/layers"
    attention = layers " model/attention"
    gpt = attention " model/gpt"
    model = gpt " model/heads model/generate"
    may["model/base"] = base
    may["model/math"] = math
    may["model/layers"] = layers
    may["model/attention"] = attention
    may["model/gpt"] = gpt
    may["model/heads"] = gpt " model/heads"
    may["model/generate"] = gpt " model/generate"
    may["data"] = base " data"
    may["train"] = model " data train"
    may["scripts"] = model " data train scripts"
}
function complain(text) {
    printf "%s:%d: %s\n", file, line, text
    wrong++
}
{
    file = $0
    from = layer(file)
    files++
    line = 0
    if (!(from in may))
        complain("no layer: expected a folder of the plan, found " from)
    while ((getline text < file) > 0) {
        line++
        if (text !~ /^[ \t]*#[ \t]*include[ \t]*["<]/)
            continue
        name = text
        sub(/^[^"<]*/, "", name)
        kind = substr(name, 1, 1)
        name = substr(name, 2)
        sub(/[">].*/, "", name)
        if (name ~ /(^|\/)cblas\.h$/ && file != "model/math/blas.c")
            complain("only model/math/blas.c may include " name)
        if (kind == "<")
            continue
        to = layer(name)
        if (name ~ /(^|\/)\.\.?(\/|$)/ || !(to in may))
            complain("include from the root, found \"" name "\"")
        else if (from in may && index(" " may[from] " ", " " to " ") == 0)
            complain(from " may not include " to ": \"" name "\"")
    }
    close(file)
}
END {
    if (!files) {
        print "check_layers: found no source files"
        exit 1
    }
    exit wrong > 0
}' >&2
