"use strict";
/* What must hold of the page of jueju heads, run inside it by tests/browser/test_page.sh:
 * each check becomes a line in the element #checks. Names such as layers or rootOf are the
 * page's own (scripts/heads_page_maps.js, heads_page.js). */
{
  const lines = [];
  const check = (what, holds) => lines.push((holds ? "ok " : "not ok ") + what);
  const title = (id) => $(id).textContent;
  const last = layers.length - 1;

  /* A pointer in the middle of a cell of a labelled map. */
  const point = (canvas, type, i, j) => {
    const box = canvas.getBoundingClientRect(), shape = geometry(canvas.clientWidth, true);
    canvas.dispatchEvent(new PointerEvent(type, { bubbles: true, detail: 1,
      clientX: box.left + shape.left + (j + 0.5) * shape.cell,
      clientY: box.top + (i + 0.5) * shape.cell }));
  };
  const press = (target, key) =>
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const says = (head, i, j) => tokenName(i) + " looks at " + tokenName(j) + ": " + weightOf(head, i, j).toFixed(3);
  /* The colour in the middle of a cell, as "rgb(r,g,b)". */
  const colourAt = (canvas, i, j) => {
    const shape = geometry(canvas.clientWidth, true), scale = window.devicePixelRatio;
    const at = (k) => Math.round((k + 0.3) * shape.cell * scale);
    const data = canvas.getContext("2d").getImageData(
      Math.round(shape.left * scale) + at(j), at(i), 1, 1).data;
    return "rgb(" + [...data.slice(0, 3)].join(",") + ")";
  };

  check("the last layer opens first", title("layer-title") === "Layer " + last);
  check("its maps are in a row", $("maps").children.length === layers[last].heads.length);
  check("every map has its name and role", [...$("maps").children].every((button, h) =>
    button.querySelector(".name").textContent.startsWith(nameOf(last, h) + layers[last].heads[h].role)));
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  check("heat is dark on light and light on dark",
    colourOf(1) === (dark ? "rgb(255,240,194)" : "rgb(11,34,66)"));
  check("the poem is there", title("poem") === "牀前看月光，疑是地上霜。舉頭望山月，低頭思故鄉。");
  check("all heads are in the overview", document.querySelectorAll("#overview button").length ===
    layers.reduce((sum, layer) => sum + layer.heads.length, 0));
  check("rows sum to one", layers.every((layer) => layer.heads.every((head) => {
    for (let i = 0; i < n; i++) {
      let sum = 0;
      for (let j = 0; j <= i; j++)
        sum += weightOf(head, i, j);
      if (!(Math.abs(sum - 1) < 0.003))
        return false;
    }
    return true;
  })));

  const maps = [...$("maps").querySelectorAll("canvas")];
  check("a weight of one has the ramp's last colour",
    maps.every((canvas) => colourAt(canvas, 0, 0) === colourOf(1)));
  check("cells have their weight's colour", maps.every((canvas, h) =>
    [[5, 2], [9, 8], [n - 1, 3]].every(([i, j]) => colourAt(canvas, i, j) === colourOf(rootOf(layers[last].heads[h], i, j)))));
  check("characters stand along both axes", maps.every((canvas) => {
    const shape = geometry(canvas.clientWidth, true);
    return shape.font >= 8 && shape.step === 1 && canvas.clientHeight > n * shape.cell + shape.font;
  }));

  point(maps[1], "pointermove", 7, 3);
  check("hovering tells query, key and weight", !$("tip").hidden && title("tip") === says(layers[last].heads[1], 7, 3));
  point(maps[1], "pointermove", 3, 7);
  check("but not above the diagonal", $("tip").hidden);
  point(maps[1], "pointermove", 7, 3);
  maps[1].dispatchEvent(new PointerEvent("pointerleave"));
  check("nor behind the map", $("tip").hidden);

  $("maps").children[1].click();
  check("a click opens the head", title("head-title") === "Head " + last + ".1" &&
    $("maps").children[1].getAttribute("aria-pressed") === "true" &&
    $("maps").children[0].getAttribute("aria-pressed") === "false");
  check("with its figures", document.querySelectorAll("#scores tr").length === SCORES.length &&
    $("offsets").children.length === 16 && $("weights").textContent.includes(current().stable_rank.toFixed(1)));
  check("and its role", title("role").startsWith(layers[last].heads[1].role));

  const large = $("large");
  state.cursor = { i: 9, j: 4 };
  large.focus();
  press(large, "ArrowUp");
  check("arrow keys walk over the map", title("readout") === says(current(), 8, 4));
  press(large, "End");
  press(large, "ArrowRight");
  check("and stay in the triangle", title("readout") === says(current(), 8, 8));
  press(large, "ArrowUp");
  check("also on the way up", title("readout") === says(current(), 7, 7));
  check("the query is marked in the verse", $("verse").querySelectorAll(".query").length === 1 &&
    $("verse").querySelector(".query").textContent === axis[7]);

  const buttons = [...document.querySelectorAll("#overview button")];
  buttons[0].focus();
  press(buttons[0], "ArrowDown");
  check("arrow keys walk through the overview", document.activeElement === buttons[layers[0].heads.length]);
  buttons[0].click();
  check("and a head opens from there", title("layer-title") === "Layer 0" && title("head-title") === "Head 0.0" &&
    buttons[0].getAttribute("aria-current") === "true");
  $("layers").children[last].click();
  check("layers can be chosen", title("layer-title") === "Layer " + last);
  check("everything can be reached by keys",
    [...document.querySelectorAll("button, canvas[tabindex]")].every((item) => item.tabIndex === 0));
  check("every pair of heads is compared", document.querySelectorAll("#pairs table").length === 5 &&
    document.querySelectorAll("#pairs table:first-child td").length === layers[last].heads.length ** 2 + 1);
  check("nothing was asked for over the network", performance.getEntriesByType("resource").length === 0);
  check("nothing is wider than the window", document.documentElement.scrollWidth <= window.innerWidth);
  lines.push("background " + getComputedStyle(document.body).backgroundColor);

  document.body.append(element("pre", { id: "checks" }, "\n" + lines.join("\n") + "\n"));
}
