"use strict";
/* The page of jueju heads, first part: data, colours, maps. Everything comes from two
 * elements: #report (JSON) and #weights-data (a line a head: rows of the causal map, two
 * base-64 digits of q = 4095 sqrt(w) a weight). Text from outside only ever becomes
 * textContent. */

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
