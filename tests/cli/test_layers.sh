# The direction of includes: the tree keeps it, and a violation would be seen.
# shellcheck shell=sh
. tests/cli/lib.sh

run scripts/check_layers.sh
check "the tree keeps the direction" silent

tree=$work/tree
mkdir -p "$tree/model/base" "$tree/model/math" "$tree/model/layers" "$tree/model/gpt" "$tree/model/heads" \
    "$tree/model/generate" "$tree/data" "$tree/train" "$tree/scripts"

# A file that includes a header, in an otherwise empty tree.
plant() { # FILE INCLUDE
    find "$tree" -name '*.[ch]' -exec rm {} +
    printf '/* x */\n%s\n' "#include $2" >"$tree/$1"
    run scripts/check_layers.sh "$tree"
}

allowed() {
    plant "$1" "$2"
    check "$1 may include $2" silent
}
refused() {
    plant "$1" "$2"
    check "$1 may not include $2" said 1 "^$1:2: "
}

allowed model/gpt/a.c '"model/attention/b.h"'
allowed model/heads/a.c '"model/gpt/b.h"'
allowed model/base/a.h '"model/base/b.h"'
allowed model/math/blas.c '<cblas.h>'
allowed data/a.c '"model/base/b.h"'
allowed data/a.c '<stdio.h>'
allowed train/a.c '"data/b.h"'
allowed train/a.c '"model/generate/b.h"'
allowed scripts/a.c '"train/b.h"'

refused model/base/a.c '"model/math/b.h"'
refused model/math/a.h '"model/layers/b.h"'
refused model/layers/a.c '"model/attention/b.h"'
refused model/gpt/a.c '"model/heads/b.h"'
refused model/heads/a.c '"model/generate/b.h"'
refused model/generate/a.c '"model/heads/b.h"'
refused model/gpt/a.c '"data/b.h"'
refused model/gpt/a.c '"train/b.h"'
refused model/gpt/a.c '"tests/b.h"'
refused data/a.c '"model/math/b.h"'
refused data/a.c '"train/b.h"'
refused data/a.c '"scripts/b.h"'
refused train/a.c '"scripts/b.h"'

plant model/math/a.c '<cblas.h>'
check "cblas.h only in blas.c" said 1 'only model/math/blas.c'
plant data/a.c '"poem.h"'
check "includes name the folder" said 1 'include from the root'
plant data/a.c '"../model/base/b.h"'
check "no way up" said 1 'include from the root'
plant data/a.c '"data/../scripts/b.h"'
check "no detour" said 1 'include from the root'
printf '  #  include   "scripts/b.h" /* x */\n' >"$tree/data/a.c"
run scripts/check_layers.sh "$tree"
check "spaces hide nothing" said 1 'data may not include scripts'
mkdir "$tree/model/other"
plant model/other/a.c '<stdio.h>'
check "a folder outside the plan" said 1 'no layer'
find "$tree" -name '*.[ch]' -exec rm {} +
run scripts/check_layers.sh "$tree"
check "an empty tree is no success" said 1 'found no source files'

finish
