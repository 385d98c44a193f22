#!/bin/sh
# The page of jueju heads in a real browser: make browser.
#
# A copy of the page gets page_checks.js at its end, chromium (without a window) opens it,
# light and dark, wide and narrow, and prints what became of it. SHOTS=FOLDER keeps
# pictures of the page; CHECKPOINT=PATH takes another model than a tiny one made here.
# shellcheck disable=SC2154 # jueju, work come from lib.sh
. tests/cli/lib.sh

for name in chromium chromium-browser google-chrome; do
    browser=$(command -v $name) && break
done
if [ -z "$browser" ]; then
    echo "skipped: no chromium here (Debian: apt-get install chromium fonts-noto-cjk)"
    exit 0
fi

page=$work/page.html
if [ -z "${CHECKPOINT:-}" ]; then
    CHECKPOINT=$work/run
    "$jueju" data --corpus sample --out "$work/sample" >/dev/null 2>&1
    "$jueju" train "$work/sample" --out "$CHECKPOINT" --layers 3 --heads 4 --width 32 \
        --context 40 --batch-tokens 256 --steps 1 --eval-every 1 >/dev/null 2>&1
fi
run "$jueju" heads "$CHECKPOINT" --html "$page"
check "the page is written" [ "$code" -eq 0 ]

{
    sed '/<\/body>/,$d' "$page"
    printf '<script>\n'
    cat tests/browser/page_checks.js
    printf '</script>\n</body>\n</html>\n'
} >"$work/checked.html"

# Opens a page of this folder; more flags behind the window's size.
open_page() { # FILE WIDTH,HEIGHT FLAG...
    file=$1
    size=$2
    shift 2
    timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$work/profile" --virtual-time-budget=2000 \
        --window-size="$size" "$@" "file://$work/$file" 2>"$work/browser"
}
checks_of() { # NAME: of the page printed last
    sed -n '/^<pre id="checks">/,/<\/pre>/p; /^.*<pre id="checks">$/p' "$work/dom" >"$work/lines"
    grep -q '^ok ' "$work/lines" || {
        echo "not ok $1: the page's checks did not run"
        tail -n 5 "$work/browser"
        wrong=$((wrong + 1))
        return
    }
    grep -e '^ok ' -e '^not ok ' "$work/lines" | sed "s/\$/ ($1)/"
    wrong=$((wrong + $(grep -c '^not ok ' "$work/lines")))
}

for look in "light 1 1440,1000" "dark 0 1440,1000" "narrow 1 520,900"; do
    # shellcheck disable=SC2086 # three words
    set -- $look
    open_page checked.html "$3" --blink-settings=preferredColorScheme="$2" --dump-dom >"$work/dom"
    sed -i 's/<pre id="checks">/\n&\n/' "$work/dom"
    checks_of "$1"
    sed -n 's/^background //p' "$work/lines" >"$work/background.$1"
    if [ -n "${SHOTS:-}" ]; then
        mkdir -p "$SHOTS"
        open_page page.html "${3%,*},2200" --blink-settings=preferredColorScheme="$2" \
            --screenshot="$SHOTS/$1.png"
    fi
done
# A model whose last layer lost all its heads, and the one before its first.
{
    sed '/^"use strict";/,$d' "$page"
    cat <<'END'
{
  const report = document.getElementById("report"), data = document.getElementById("weights-data");
  const json = JSON.parse(report.textContent), last = json.layers.length - 1;
  const lines = data.textContent.trim().split("\n");
  lines.splice(lines.length - json.layers[last].heads.length);
  lines.splice(lines.length - json.layers[last - 1].heads.length, 1);
  Object.assign(json.layers[last], { heads: [], distance: [], closest_pair: null });
  json.layers[last - 1].heads.shift();
  for (const key of ["distance", "cosine", "cka", "query_overlap", "key_overlap"])
    json.layers[last - 1][key] = json.layers[last - 1][key].slice(1).map((row) => row.slice(1));
  data.textContent = lines.join("\n");
  report.textContent = JSON.stringify(json);
}
</script>
<script>
END
    sed -n '/^"use strict";/,$p' "$page" | sed '/<\/body>/,$d'
    cat <<'END'
<script>
{
  const lines = [], check = (what, holds) => lines.push((holds ? "ok " : "not ok ") + what);
  const last = layers.length - 1;
  check("a layer without heads says so", $("pairs").textContent === "The layer has no heads left." &&
    $("maps").children.length === 0 && $("detail").hidden);
  $("layers").children[last - 1].click();
  check("heads that are left keep their numbers", $("head-title").textContent === "Head " + (last - 1) + ".1" &&
    !$("detail").hidden && $("maps").children.length === layers[last - 1].heads.length);
  check("and their maps", Math.abs(weightOf(current(), 0, 0) - 1) < 0.001 && $("large").clientHeight > 100);
  $("layers").children[last].click();
  check("one can go back", $("layer-title").textContent === "Layer " + last && $("detail").hidden);
  document.body.append(element("pre", { id: "checks" }, "\n" + lines.join("\n") + "\n"));
}
</script>
</body>
</html>
END
} >"$work/cut.html"
open_page cut.html 1440,1000 --dump-dom >"$work/dom"
sed -i 's/<pre id="checks">/\n&\n/' "$work/dom"
checks_of "heads cut"

differ() {
    ! cmp -s "$work/background.light" "$work/background.dark"
}
check "light and dark differ" differ

finish
