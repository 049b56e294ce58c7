"use strict";
const $ = id => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const values = {};
let model = null, sweep = null, asked = 0, answered = 0, waiting = false;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function drawn(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const digits = value => Number(value.toPrecision(4)).toString();
const percent = value => `${(100 * value).toFixed(1)} %`;

async function ask(address, body) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(address, options);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error || answer.statusText);
  return found;
}

// -- the form --------------------------------------------------------------------------------------------------------
function formField(field, index) {
  const id = `field-${index}`, box = element("div", { class: "field" });
  box.append(element("label", { for: id }, field.name));
  if (field.kind === "choice") {
    const choice = element("select", { id });
    for (const option of field.options) choice.append(element("option", { value: option }, option));
    choice.value = field.value;
    choice.addEventListener("change", () => changed(field.name, choice.value));
    box.append(choice);
  } else {
    const input = element("input", { id, type: "text", inputmode: field.kind === "number" ? "decimal" : "text" });
    input.value = field.value === null ? "" : field.kind === "number" ? digits(field.value) : field.value;
    input.addEventListener("input", () => changed(field.name, typed(field, input.value)));
    box.append(input);
    if (field.low !== null && field.high > field.low) box.append(slider(field, id, input));
  }
  values[field.name] = field.value;
  return box;
}

function typed(field, text) {
  const number = Number(text);
  return field.kind === "number" && text.trim() !== "" && Number.isFinite(number) ? number : text;
}

function slider(field, id, input) {
  const step = (field.high - field.low) / 200;
  const range = element("input", { type: "range", id: `${id}-range`, min: field.low, max: field.high, step,
    "aria-label": `${field.name}, slider` });
  range.value = field.value;
  range.addEventListener("input", () => {
    input.value = digits(Number(range.value));
    changed(field.name, Number(range.value));
  });
  input.addEventListener("input", () => { if (Number.isFinite(Number(input.value))) range.value = input.value; });
  return range;
}

function changed(name, value) {
  values[name] = value;
  if (name !== $("column").value) sweep = null;
  update();
}

function setField(name, value) {
  const input = $(`field-${model.fields.findIndex(field => field.name === name)}`);
  const range = $(`${input.id}-range`);
  input.value = typeof value === "number" ? digits(value) : value;
  if (range) range.value = value;
  changed(name, value);
}

// -- prediction ------------------------------------------------------------------------------------------------------
async function update() {
  if (waiting) { asked++; return; }
  waiting = true;
  do {
    answered = asked;
    try {
      const found = await ask("predict", { values });
      showPrediction(found.prediction);
      showRemarks(found.remarks);
      showCases(found.nearest);
      if (sweep === null) sweep = await ask("sweep", { values, column: $("column").value });
      showSweep(found.prediction);
      document.body.dataset.state = "ready";
    } catch (error) {
      showRemarks([error.message]);
      document.body.dataset.state = "refused";
    }
  } while (asked !== answered);
  waiting = false;
}

function showPrediction(found) {
  const box = $("prediction");
  box.replaceChildren();
  if (model.task === "classification") {
    box.append(element("p", { class: "headline" }, `${model.target}: ${found.prediction}`));
    const list = element("ol", { class: "bars", "aria-label": "Probabilities of the classes" });
    for (const label of model.classes) {
      const p = found[`P(${label})`];
      if (p === undefined) continue;
      const bar = element("span", { class: "bar" });
      bar.style.width = `${100 * p}%`;
      list.append(element("li", {}, element("span", {}, label), element("span", { class: "track" }, bar),
        element("span", { class: "number" }, percent(p))));
    }
    box.append(list);
    return;
  }
  box.append(element("p", { class: "headline" }, `${model.target}: ${digits(found.prediction)}`));
  if (found.lower !== undefined)
    box.append(element("p", {}, `95 % interval ${digits(found.lower)} to ${digits(found.upper)}`));
}

function showRemarks(lines) {
  $("remarks").replaceChildren(...lines.map(line => element("li", {}, line)));
}

function showCases(rows) {
  $("cases").hidden = rows.length === 0;
  if (!rows.length) return;
  const names = Object.keys(rows[0].cells);
  const head = element("tr", {}, ...["row", model.target, ...names].map(n => element("th", { scope: "col" }, n)));
  const body = rows.map(row => element("tr", {}, ...[row.row, row.target, ...names.map(n => row.cells[n])].map(
    cell => element("td", {}, typeof cell === "number" ? digits(cell) : String(cell ?? "")))));
  $("nearest").replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
}

// -- what if ---------------------------------------------------------------------------------------------------------
let WIDE = 560; // as wide as there is room, so that labels keep their size
const HIGH = 250, LEFT = 52, RIGHT = 14, TOP = 12, BOTTOM = 34;

function showSweep(found) {
  const box = $("sweep"), along = sweep.along;
  box.replaceChildren();
  WIDE = Math.min(760, Math.max(260, box.clientWidth));
  $("hint").textContent = "";
  if (along.length < 2) { $("hint").textContent = "The range of this column is not known."; return; }
  const main = model.task === "classification" ? `P(${found.prediction})` : "prediction";
  const curve = sweep.curves[main];
  if (!curve) { $("hint").textContent = "This model gives no probabilities."; return; }
  const numeric = typeof along[0] === "number";
  const all = model.task === "classification" ? [0, 1] : [...curve, ...(sweep.curves.lower || []),
    ...(sweep.curves.upper || [])];
  let low = Math.min(...all), high = Math.max(...all);
  if (high <= low) { low -= 1; high += 1; }
  const x = i => LEFT + (WIDE - LEFT - RIGHT) * (numeric ? i / (along.length - 1) : (i + .5) / along.length);
  const y = v => HIGH - BOTTOM - (HIGH - TOP - BOTTOM) * (v - low) / (high - low);
  const name = model.task === "classification" ? `probability of ${found.prediction}` : model.target;
  const svg = drawn("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img",
    "aria-label": `${name} as ${sweep.column} moves` });
  axes(svg, along, low, high, x, y, numeric);
  if (sweep.curves.lower && numeric) svg.append(drawn("polygon", { class: "band", points: [
    ...along.map((_, i) => `${x(i)},${y(sweep.curves.upper[i])}`),
    ...along.map((_, i) => `${x(i)},${y(sweep.curves.lower[i])}`).reverse()].join(" ") }));
  if (numeric) svg.append(drawn("polyline", { class: "line", points: curve.map((v, i) => `${x(i)},${y(v)}`).join(" ") }));
  else curve.forEach((v, i) => svg.append(drawn("line", { class: "line", x1: x(i), x2: x(i), y1: y(low), y2: y(v) })));
  mark(svg, along, curve, x, y, numeric);
  box.append(svg);
  $("hint").textContent = `${name}, all other values as in the form. ` + (numeric ? "Drag in the picture." : "Click in it.");
  svg.addEventListener("pointerdown", event => { svg.setPointerCapture(event.pointerId); moved(event, svg, numeric); });
  svg.addEventListener("pointermove", event => { if (event.buttons) moved(event, svg, numeric); });
}

function axes(svg, along, low, high, x, y, numeric) {
  for (const share of [0, .25, .5, .75, 1]) {
    const v = low + share * (high - low);
    svg.append(drawn("line", { class: "grid", x1: LEFT, x2: WIDE - RIGHT, y1: y(v), y2: y(v) }),
      drawn("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, digits(v)));
  }
  const few = WIDE < 420;
  const every = numeric ? (along.length - 1) / (few ? 2 : 4) : Math.max(1, Math.ceil(along.length / (few ? 3 : 6)));
  for (let i = 0; i < along.length; i += every) {
    const at = along[Math.round(i)], text = numeric ? digits(at) : String(at).slice(0, 12);
    const anchor = numeric && i === 0 ? "start" : numeric && i >= along.length - 1 ? "end" : "middle";
    svg.append(drawn("text", { x: x(i), y: HIGH - 14, "text-anchor": anchor }, text));
  }
}

function mark(svg, along, curve, x, y, numeric) {
  const now = values[sweep.column];
  const at = numeric ? (along.length - 1) * (now - along[0]) / (along[along.length - 1] - along[0]) : along.indexOf(now);
  if (!(at >= 0 && at <= along.length - 1)) return;
  const below = Math.floor(at), above = Math.min(below + 1, along.length - 1);
  const v = curve[below] + (at - below) * (curve[above] - curve[below]);
  svg.append(drawn("line", { class: "now", x1: x(at), x2: x(at), y1: TOP, y2: HIGH - BOTTOM }),
    drawn("circle", { class: "dot", cx: x(at), cy: y(v), r: 5 }));
}

function moved(event, svg, numeric) {
  const frame = svg.getBoundingClientRect(), along = sweep.along;
  const share = ((event.clientX - frame.left) / frame.width * WIDE - LEFT) / (WIDE - LEFT - RIGHT);
  const bounded = Math.min(1, Math.max(0, share));
  const value = numeric ? along[0] + bounded * (along[along.length - 1] - along[0])
    : along[Math.min(along.length - 1, Math.floor(bounded * along.length))];
  setField(sweep.column, value);
}

// -- a whole table ---------------------------------------------------------------------------------------------------
async function upload(file) {
  const note = $("table-note");
  note.textContent = `Reading ${file.name} …`;
  const answer = await fetch(`table?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file });
  const found = await answer.json();
  $("rows").replaceChildren();
  $("download").hidden = !answer.ok;
  if (!answer.ok) { note.textContent = found.error || answer.statusText; return; }
  note.textContent = [`${found.rows} rows` + (found.rows > found.shown.length ? `, the first ${found.shown.length} shown`
    : ""), ...found.remarks].join(". ");
  const head = element("tr", {}, ...found.columns.map(name => element("th", { scope: "col" }, name)));
  const body = found.shown.map(row => element("tr", {}, ...found.columns.map(name =>
    element("td", {}, typeof row[name] === "number" ? digits(row[name]) : String(row[name] ?? "")))));
  $("rows").replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
  $("download").href = URL.createObjectURL(new Blob([found.csv], { type: "text/csv" }));
}

async function begin() {
  model = await (await fetch("model")).json();
  document.title = `${model.target}: ${model.name}`;
  $("title").textContent = `What ${model.target} will be`;
  $("machine").textContent = `${model.name}. ${model.machine}`;
  $("fields").append(...model.fields.map(formField));
  for (const field of model.fields) $("column").append(element("option", { value: field.name }, field.name));
  $("column").addEventListener("change", () => { sweep = null; update(); });
  $("file").addEventListener("change", event => { if (event.target.files[0]) upload(event.target.files[0]); });
  $("form").addEventListener("submit", event => event.preventDefault());
  await update();
}

begin();
