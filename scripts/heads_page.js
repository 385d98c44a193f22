/* The page of jueju heads, second part: what is shown, chosen and walked through. Behind
 * heads_page_maps.js in one script. */

/* ---- what is shown ------------------------------------------------------------------ */

const state = { layer: report.page.layer, head: 0, cursor: null };
/* undefined in a layer whose heads were all cut */
const current = () => layers[state.layer].heads[state.head];

function describe(head, cell) {
  return [element("b", { lang: "zh-Hant" }, tokenName(cell.i)), " looks at ",
          element("b", { lang: "zh-Hant" }, tokenName(cell.j)), ": ",
          weightOf(head, cell.i, cell.j).toFixed(3)];
}

function showTip(event, head, cell) {
  const tip = $("tip");
  tip.hidden = cell === null;
  if (cell === null)
    return;
  tip.replaceChildren(...describe(head, cell));
  const room = window.innerWidth - tip.offsetWidth - 12;
  tip.style.left = Math.min(event.clientX + 14, room) + "px";
  tip.style.top = event.clientY + 16 + "px";
}

/* The text in lines of verse; each token becomes a span. */
function fillPoem(place, from) {
  let line = element("span", { class: "line" });
  const spans = [];
  place.replaceChildren(line);
  for (let i = from; i < n; i++) {
    spans[i] = element("span", {}, axis[i]);
    line.append(spans[i]);
    if (/[。？！]/.test(axis[i]) && i < n - 1) {
      line = element("span", { class: "line" });
      place.append(line);
    }
  }
  return spans;
}

const verse = fillPoem($("verse"), 0);

function drawCursor() {
  const head = current(), cell = state.cursor;
  if (!head)
    return;
  drawMap($("large"), head, true, cell);
  $("readout").replaceChildren(...(cell ? describe(head, cell) : ["No cell is chosen."]));
  verse.forEach((span, j) => {
    const root = cell && j <= cell.i ? rootOf(head, cell.i, j) : 0;
    span.style.background = root > 0.1 ? colourOf(root) : "";
    span.style.color = root > 0.1 ? inkOn(root) : "";
    span.className = cell && j === cell.i ? "query" : "";
  });
}

/* The query to begin with: the last character that is no mark, and what it looks at most. */
function strongest(head) {
  if (!head)
    return null;
  let i = n - 1;
  while (i > 0 && marks[i])
    i--;
  let best = 0;
  for (let j = 1; j <= i; j++)
    if (rootOf(head, i, j) > rootOf(head, i, best))
      best = j;
  return { i, j: best };
}

/* ---- figures of a head -------------------------------------------------------------- */

const ROLE_TEXT = {
  unclear: "no score is far enough over chance to name it",
  self: "looks at the character itself",
  previous: "looks at the character before",
  near: "looks one to three characters back",
  start: "rests on the start of the poem",
  marks: "rests on punctuation",
  line: "looks at the same place in the line before",
  "line-next": "looks at the place in the line before of the character to be written now",
  duplicate: "looks at the same character earlier",
  rare: "looks at the rarest character so far",
  induction: "looks at what followed the same character earlier",
};
const SCORES = [
  ["self", "itself"], ["previous", "one back"], ["near", "one to three back"],
  ["start", "start of the poem"], ["marks", "punctuation"],
  ["line", "same place, line before"], ["line_next", "next place, line before"],
  ["duplicate", "same character earlier"], ["induction", "what followed it then"],
  ["induction_random", "the same, on random repeats"], ["rare", "rarest character"],
];

function scoreRow(head, key, text) {
  const score = head.scores[key], chance = Math.max(score.uniform, score.shuffled);
  const wanted = head.role === "induction" ? "induction_random" : head.role.replace("-", "_");
  const row = element("tr", wanted === key ? { class: "named" } : {}, element("th", { scope: "row" }, text));
  if (score.rows === 0) {
    row.append(element("td", {}, "no such place in the texts"), element("td", {}, "–"));
    return row;
  }
  const bar = element("i"), tick = element("u");
  bar.style.width = 100 * Math.min(1, score.score) + "%";
  tick.style.left = "calc(" + 100 * Math.min(1, chance) + "% - 1px)";
  const track = element("div", { class: "track", title: "uniform " + score.uniform.toFixed(3) +
    ", shuffled " + score.shuffled.toFixed(3) + ", rows " + score.rows }, bar, tick);
  row.append(element("td", {}, track), element("td", {}, score.score.toFixed(3)));
  return row;
}

function fillOffsets(head) {
  const most = Math.max(...head.offsets, ...head.offsets_uniform, 0.05);
  $("offsets").replaceChildren(...head.offsets.map((value, back) => {
    const bar = element("i"), line = element("u");
    bar.style.height = 84 * value / most + "px";
    line.style.bottom = 16 + 84 * head.offsets_uniform[back] / most + "px";
    return element("div", { title: back + " back: " + value.toFixed(3) + ", even attention " +
      head.offsets_uniform[back].toFixed(3) }, bar, line, element("span", {}, String(back)));
  }));
}

function fillWeights(head) {
  const rows = [["entropy of its rows, 0 one-hot … 1 even", head.entropy.toFixed(3)],
    ["rows with a weight over 0.99", (100 * head.saturation).toFixed(1) + "%"]];
  const norms = head.norms;
  rows.push(["norms of W_Q, W_K", norms.q.toFixed(2) + ", " + norms.k.toFixed(2)],
    ["norms of W_V, W_O", norms.v.toFixed(2) + ", " + norms.o.toFixed(2)],
    ["stable rank of W_Q W_Kᵀ", head.stable_rank.toFixed(1) + " of " + head.score_rank]);
  $("weights").replaceChildren(...rows.map(([text, value]) =>
    element("tr", {}, element("th", { scope: "row" }, text), element("td", {}, value))));
}

/* ---- figures of a layer ------------------------------------------------------------- */

function pairTable(name, note, values, strong) {
  const table = element("table", {}, element("caption", {}, name, element("small", {}, note)));
  const heads = values.map((_, h) => nameOf(state.layer, h));
  table.append(element("tr", {}, element("td"), ...heads.map((head) => element("th", { scope: "col" }, head))));
  values.forEach((row, g) => {
    const line = element("tr", {}, element("th", { scope: "row" }, heads[g]));
    row.forEach((value, h) => {
      const cell = element("td", {}, g === h ? "·" : value.toFixed(2).replace("-0.00", "0.00"));
      const root = g === h ? 0 : 0.85 * Math.min(1, Math.max(0, strong(value)));
      cell.style.background = colourOf(root);
      cell.style.color = inkOn(root);
      line.append(cell);
    });
    table.append(line);
  });
  return table;
}

function fillPairs(layer) {
  if (layer.heads.length < 2) {
    $("pairs").replaceChildren(element("p", { class: "quiet" },
      layer.heads.length === 1 ? "The layer has one head." : "The layer has no heads left."));
    return;
  }
  const random = layer.random_overlap.toFixed(2);
  $("pairs").replaceChildren(
    pairTable("Distance of maps", "Jensen–Shannon: 0 equal, 1 disjoint", layer.distance, (v) => 1 - v),
    pairTable("Likeness of outputs", "linear CKA: 1 the same, turned", layer.cka, (v) => v),
    pairTable("Cosine of outputs", "mean over tokens", layer.cosine, (v) => Math.abs(v)),
    pairTable("Overlap of queries", "spans of W_Q; by chance " + random, layer.query_overlap, (v) => v),
    pairTable("Overlap of keys", "spans of W_K; by chance " + random, layer.key_overlap, (v) => v));
}

function layerNote(layer) {
  const parts = [layer.effective_heads.toFixed(2) + " of " + layer.heads.length + " heads in effect"];
  if (layer.closest_pair)
    parts.push("closest " + layer.closest_pair.map((number) => layers.indexOf(layer) + "." + number).join(" and ") +
      " at distance " + layer.min_pair_distance.toFixed(2));
  parts.push("mean entropy " + layer.entropy.toFixed(2),
    "rank residual " + layer.rank_residual.toFixed(2), layer.verdict);
  return parts.join(" · ");
}

/* ---- choosing ----------------------------------------------------------------------- */

function choose(layer, head) {
  const moved = layer !== state.layer;
  state.layer = layer;
  state.head = head;
  state.cursor = strongest(current());
  if (moved)
    fillLayer();
  fillHead();
}

function tag(head) {
  return element("span", { class: head.role === "unclear" ? "tag unclear" : "tag" }, head.role);
}

function headButton(head, h) {
  const canvas = element("canvas");
  const button = element("button", { class: "head", type: "button",
      "aria-label": "Head " + nameOf(state.layer, h) + ", " + head.role + ", entropy " + head.entropy.toFixed(2) },
    element("div", { class: "name" }, element("b", {}, nameOf(state.layer, h)), tag(head),
      element("span", { class: "quiet" }, "entropy " + head.entropy.toFixed(2) + " · sink " + head.sink.toFixed(2))),
    canvas);
  button.addEventListener("click", (event) => {
    const cell = event.detail > 0 ? cellAt(canvas, event) : null;
    choose(state.layer, h);
    if (cell) {
      state.cursor = cell;
      drawCursor();
    }
  });
  canvas.addEventListener("pointermove", (event) => showTip(event, head, cellAt(canvas, event)));
  canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });
  return button;
}

function fillLayer() {
  const layer = layers[state.layer];
  $("layer-title").textContent = "Layer " + state.layer;
  $("layer-note").textContent = layerNote(layer);
  [...$("layers").children].forEach((button, l) => button.setAttribute("aria-pressed", l === state.layer));
  $("maps").replaceChildren(...layer.heads.map(headButton));
  drawLayer();
  fillPairs(layer);
}

function drawLayer() {
  [...$("maps").children].forEach((button, h) =>
    drawMap(button.querySelector("canvas"), layers[state.layer].heads[h], true, null));
}

function fillHead() {
  const head = current();
  $("detail").hidden = !head;
  const name = head ? nameOf(state.layer, state.head) : "";
  document.querySelectorAll("#overview button").forEach((button) =>
    button.setAttribute("aria-current", button.dataset.place === state.layer + "." + state.head));
  if (!head)
    return;
  $("head-title").textContent = "Head " + name;
  $("role").replaceChildren(tag(head), " — " + ROLE_TEXT[head.role]);
  $("large").setAttribute("aria-label", "Attention map of head " + name);
  [...$("maps").children].forEach((button, h) => button.setAttribute("aria-pressed", h === state.head));
  $("scores").replaceChildren(...SCORES.map(([key, text]) => scoreRow(head, key, text)));
  fillOffsets(head);
  fillWeights(head);
  drawCursor();
}

/* ---- the parts that stay ------------------------------------------------------------ */

function fillOverview() {
  const table = $("overview"), most = Math.max(1, ...layers.map((layer) => layer.heads.length));
  table.append(element("tr", {}, element("th"), element("th", { colspan: most }, "heads"), element("th", { class: "text" })));
  layers.forEach((layer, l) => {
    const row = element("tr", {}, element("th", { scope: "row" }, "layer " + l));
    layer.heads.forEach((head, h) => {
      const button = element("button", { type: "button", "data-place": l + "." + h,
        title: nameOf(l, h) + " " + head.role, "aria-label": "Head " + nameOf(l, h) + ", " + head.role }, element("canvas"));
      button.addEventListener("click", () => choose(l, h));
      row.append(element("td", {}, button));
    });
    for (let h = layer.heads.length; h < most; h++)
      row.append(element("td"));
    const ill = layer.verdict !== "healthy";
    row.append(element("td", { class: "text" }, layer.effective_heads.toFixed(2) + " in effect · ",
      element("span", ill ? { class: "ill" } : {}, layer.verdict)));
    table.append(row);
  });
}

function drawOverview() {
  document.querySelectorAll("#overview canvas").forEach((canvas) => {
    const [l, h] = canvas.parentElement.dataset.place.split(".");
    drawMap(canvas, layers[l].heads[h], false, null);
  });
}

function drawLegend() {
  const canvas = $("legend").querySelector("canvas");
  const shape = { width: 190, height: 26 }, pen = prepare(canvas, shape);
  canvas.style.width = shape.width + "px";
  const width = 170;
  for (let x = 0; x < width; x++) {
    pen.fillStyle = colourOf(x / (width - 1));
    pen.fillRect(8 + x, 0, 1.5, 11);
  }
  pen.fillStyle = colours.quiet;
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "center";
  for (const weight of [0, 0.1, 0.25, 0.5, 1])
    pen.fillText(String(weight), 8 + Math.sqrt(weight) * width, 23);
}

/* Arrow keys inside a group of buttons, `across` of them in a row. */
function walkable(group, selector, across) {
  group.addEventListener("keydown", (event) => {
    const buttons = [...group.querySelectorAll(selector)];
    const at = buttons.indexOf(document.activeElement);
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -across(), ArrowDown: across() };
    const next = buttons[at + steps[event.key]];
    if (at < 0 || !(event.key in steps) || next === undefined)
      return;
    event.preventDefault();
    next.focus();
  });
}

function listenLarge() {
  const large = $("large");
  let pointed = false;
  const follow = (event) => {
    const cell = cellAt(large, event);
    showTip(event, current(), cell);
    if (cell && !(state.cursor && cell.i === state.cursor.i && cell.j === state.cursor.j)) {
      state.cursor = cell;
      if (!pointed)
        requestAnimationFrame(() => { pointed = false; drawCursor(); });
      pointed = true;
    }
  };
  large.addEventListener("pointermove", follow);
  large.addEventListener("pointerdown", follow);
  large.addEventListener("pointerleave", () => { $("tip").hidden = true; });
  large.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
                    Home: [0, -n], End: [0, n] };
    if (!(event.key in steps))
      return;
    event.preventDefault();
    const [down, right] = steps[event.key], cell = state.cursor;
    const i = Math.max(0, Math.min(n - 1, cell.i + down));
    state.cursor = { i, j: Math.max(0, Math.min(i, cell.j + right)) };
    drawCursor();
  });
}

function redraw() {
  readColours();
  drawLegend();
  drawOverview();
  drawLayer();
  fillPairs(layers[state.layer]);
  drawCursor();
}

function start() {
  const probe = report.probe;
  document.title = "Attention heads of " + report.checkpoint;
  fillPoem($("poem"), report.tokens[0] === "<bos>" ? 1 : 0);
  $("source").textContent = report.checkpoint + " · figures over " + (probe.set === null ? "this text alone"
    : probe.texts + " validation texts of " + probe.set) + " (" + probe.tokens + " tokens), maps of this text";
  layers.forEach((_, l) => {
    const button = element("button", { type: "button" }, String(l));
    button.addEventListener("click", () => choose(l, Math.max(0, Math.min(state.head, layers[l].heads.length - 1))));
    $("layers").append(button);
  });
  readColours();
  fillOverview();
  state.cursor = strongest(current());
  fillLayer();
  fillHead();
  drawOverview();
  drawLegend();
  listenLarge();
  walkable($("overview"), "button", () => layers[0].heads.length);
  walkable($("layers"), "button", () => 1);
  walkable($("maps"), "button", () => layers[state.layer].heads.length);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 100);
  });
}

start();
