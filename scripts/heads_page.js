"use strict";
/* The page of jueju heads. Everything comes from two elements: #report (JSON) and
 * #weights-data (a line a head: rows of the causal map, two base-64 digits of
 * q = 4095 sqrt(w) a weight). Text from outside only ever becomes textContent. */

const report = JSON.parse(document.getElementById("report").textContent);
const axis = report.page.axis, marks = report.page.marks, layers = report.layers;
const n = axis.length;
const $ = (id) => document.getElementById(id);

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {}))
    made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/* ---- weights ------------------------------------------------------------------------ */

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Roots of the weights, row i at i(i+1)/2. */
function decode(line) {
  const roots = new Float32Array(line.length / 2);
  for (let k = 0; k < roots.length; k++)
    roots[k] = (DIGITS.indexOf(line[2 * k]) * 64 + DIGITS.indexOf(line[2 * k + 1])) / 4095;
  return roots;
}

const lines = $("weights-data").textContent.trim().split("\n");
layers.forEach((layer) => layer.heads.forEach((head) => { head.roots = decode(lines.shift()); }));

const rootOf = (head, i, j) => head.roots[i * (i + 1) / 2 + j];
const weightOf = (head, i, j) => rootOf(head, i, j) ** 2;
/* A head keeps its number when others are cut from its layer. */
const nameOf = (l, h) => l + "." + layers[l].heads[h].head;

function tokenName(i) {
  return axis[i] === "◇" || axis[i] === "□" ? report.tokens[i] : axis[i];
}

/* ---- colours ------------------------------------------------------------------------ */

let colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(name).trim();
  const stops = value("--ramp").split(/\s+/).map((hex) =>
    [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  const table = [];
  for (let k = 0; k < 256; k++) {
    const at = k / 255 * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
    table.push("rgb(" + stops[low].map((c, x) =>
      Math.round(c + (stops[low + 1][x] - c) * (at - low))).join(",") + ")");
  }
  colours = { table, ink: value("--ink"), quiet: value("--quiet"), verse: value("--verse"),
              seal: value("--seal"), serif: value("--serif"), light: stops[0][0] > 128 };
}

const colourOf = (root) => colours.table[Math.min(255, Math.round(root * 255))];

/* Ink that can be read on the ramp's colour. */
const inkOn = (root) => colours.light === root < 0.55 ? "#17191d" : "#f7f3e8";

/* ---- maps --------------------------------------------------------------------------- */

/* Where things are on a map's canvas of `width` CSS pixels: cells from (left, 0) down. A
 * label needs 8 pixels; where cells are smaller only every step-th has one. */
function geometry(width, labelled) {
  const guess = labelled ? width / (n + 1.4) : width / n;
  const font = labelled ? Math.max(8, Math.min(20, guess * 0.92)) : 0;
  const left = labelled ? Math.ceil(font * 1.4) : 0;
  const cell = (width - left) / n;
  return { width, left, cell, font, step: Math.ceil((font + 0.5) / cell),
           height: n * cell + (labelled ? font * 1.45 : 0) };
}

function prepare(canvas, shape) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(shape.width * scale);
  canvas.height = Math.round(shape.height * scale);
  canvas.style.height = shape.height + "px";
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  return pen;
}

function drawCells(pen, shape, head) {
  const at = (k) => Math.round(k * shape.cell * 4) / 4;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      pen.fillStyle = colourOf(rootOf(head, i, j));
      pen.fillRect(shape.left + at(j), at(i), at(j + 1) - at(j) + 0.3, at(i + 1) - at(i) + 0.3);
    }
  }
}

/* A thin line behind every line of verse. */
function drawLines(pen, shape) {
  pen.strokeStyle = colours.verse;
  pen.lineWidth = 1;
  for (let i = 0; i < n - 1; i++) {
    if (!marks[i])
      continue;
    const at = (i + 1) * shape.cell;
    pen.beginPath();
    pen.moveTo(shape.left, at);
    pen.lineTo(shape.left + at, at);
    pen.lineTo(shape.left + at, n * shape.cell);
    pen.stroke();
  }
}

function drawLabels(pen, shape, cursor) {
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  for (let i = 0; i < n; i++) {
    const middle = (i + 0.5) * shape.cell;
    const lit = (which) => cursor && cursor[which] === i;
    const draw = (which, x, y) => {
      if (i % shape.step !== 0 && !lit(which))
        return;
      pen.font = (lit(which) ? "bold " : "") + shape.font + "px " + colours.serif;
      pen.fillStyle = lit(which) ? colours.seal : colours.ink;
      pen.fillText(axis[i], x, y);
    };
    draw("i", shape.left * 0.45, middle);
    draw("j", shape.left + middle, n * shape.cell + shape.font * 0.75);
  }
}

function drawMap(canvas, head, labelled, cursor) {
  const width = canvas.clientWidth || 40;
  const shape = geometry(width, labelled);
  const pen = prepare(canvas, shape);
  drawCells(pen, shape, head);
  if (labelled) {
    drawLines(pen, shape);
    drawLabels(pen, shape, cursor);
  }
  if (cursor) {
    pen.strokeStyle = colours.seal;
    pen.lineWidth = 2;
    pen.strokeRect(shape.left + cursor.j * shape.cell, cursor.i * shape.cell, shape.cell, shape.cell);
  }
}

/* The cell under a pointer, or null outside the triangle. */
function cellAt(canvas, event) {
  const box = canvas.getBoundingClientRect();
  const shape = geometry(canvas.clientWidth, true);
  const j = Math.floor((event.clientX - box.left - shape.left) / shape.cell);
  const i = Math.floor((event.clientY - box.top) / shape.cell);
  return i >= 0 && i < n && j >= 0 && j <= i ? { i, j } : null;
}

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
