#!/bin/sh
# Checks the committed poems against the fetched corpus.
#
#   scripts/check_sample.sh [DIST]      default: data/corpora/chinese-poetry/dist
#
# Always: the schema, that no id or text occurs twice, and that there are enough poems.
# With the corpus: every poem that occurs in its tang or song files must have the wording
# it has there. Exit 0 all well, 1 a check failed, 2 wrong usage or no node.
set -eu

fail() {
    echo "check_sample: $*" >&2
    exit 2
}

root=$(cd "$(dirname "$0")/.." && pwd)

[ $# -le 1 ] || fail "expected at most one argument, the corpus' dist folder; found $#"
case ${1-} in
-h | --help)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
-*) fail "unknown option '$1'; usage: scripts/check_sample.sh [DIST]" ;;
esac

if command -v node >/dev/null 2>&1; then
    node=node
elif command -v nodejs >/dev/null 2>&1; then
    node=nodejs
else
    fail "node is needed (it comes with npm; Debian: apt-get install nodejs) and was not found"
fi

corpus=${1-$root/data/corpora/chinese-poetry/dist}
if [ ! -d "$corpus/quantangshi" ]; then
    [ $# -eq 0 ] || fail "$1: expected a folder with quantangshi/ in it, found none"
    corpus=
fi

exec "$node" "$root/scripts/check_sample.js" "$root/data/sample" ${corpus:+"$corpus/quantangshi"}
