// The graphs of one direction of a connection, on canvases that share their time axis.

// Columns come as base64 of little-endian numbers.
const TYPES = { f8: Float64Array, u4: Uint32Array, u1: Uint8Array };
function column(text) {
  const [type, code] = [text.slice(0, 2), text.slice(3)];
  return new TYPES[type](Uint8Array.from(atob(code), (c) => c.charCodeAt(0)).buffer);
}
for (const table of Object.values(data.tables))
  for (const name of Object.keys(table)) table[name] = column(table[name]);
const { segments, acks, sacks, outstanding, window: advertised, rtt, throughput, intervals, goodput } = data.tables;

const style = getComputedStyle(document.documentElement);
const colour = (name) => (name.startsWith("#") ? name : style.getPropertyValue("--" + name).trim());
const hidden = new Set();
const MARGIN = { left: 74, right: 12, top: 20, bottom: 22 };

// The view: one range of time for all panels; values have a range in the first only, the others fit theirs.
const whole = { t0: 0, t1: Math.max(data.duration, 1e-6) };
pad(whole);
let view = { ...whole, y0: 0, y1: 1 };

function pad(range) {
  const margin = 0.02 * (range.t1 - range.t0);
  range.t0 -= margin;
  range.t1 += margin;
}

// Index of the first time that is not before t.
function first(times, t) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < t) low = middle + 1; else high = middle;
  }
  return low;
}

// Rows in view, one more at each end so that lines go on to the edge.
function rows(times) {
  return [Math.max(first(times, view.t0) - 1, 0), Math.min(first(times, view.t1) + 1, times.length)];
}

class Panel {
  constructor(name, title, share, draw, range) {
    Object.assign(this, { name, title, share, draw, range });
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("aria-label", title);
    document.getElementById("panels").append(this.canvas);
    this.context = this.canvas.getContext("2d");
  }
  resize() {
    const height = Math.max(110, Math.round(this.share * (innerHeight - 190)));
    this.canvas.style.height = height + "px";
    const scale = devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = height;
    this.canvas.width = this.width * scale;
    this.canvas.height = height * scale;
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
  }
  x(t) { return MARGIN.left + ((t - view.t0) / (view.t1 - view.t0)) * (this.width - MARGIN.left - MARGIN.right); }
  y(v) { return this.height - MARGIN.bottom - ((v - this.y0) / (this.y1 - this.y0)) * this.inner(); }
  t(x) { return view.t0 + ((x - MARGIN.left) / (this.width - MARGIN.left - MARGIN.right)) * (view.t1 - view.t0); }
  v(y) { return this.y0 + ((this.height - MARGIN.bottom - y) / this.inner()) * (this.y1 - this.y0); }
  inner() { return this.height - MARGIN.top - MARGIN.bottom; }
  paint() {
    const pen = this.context;
    pen.clearRect(0, 0, this.width, this.height);
    [this.y0, this.y1] = this.range ? this.range() : [view.y0, view.y1];
    if (!(this.y1 > this.y0)) this.y1 = this.y0 + 1;
    this.axes(pen);
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, MARGIN.top, this.width - MARGIN.left - MARGIN.right, this.inner());
    pen.clip();
    this.draw(pen, this);
    if (hover !== null) line(pen, this.x(hover), MARGIN.top, this.x(hover), this.height - MARGIN.bottom, "dim", 0.5);
    if (frame && frame.panel === this) {
      pen.strokeStyle = colour("late");
      pen.strokeRect(frame.x0, frame.y0, frame.x1 - frame.x0, frame.y1 - frame.y0);
    }
    pen.restore();
  }
  axes(pen) {
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = colour("dim");
    pen.textAlign = "center";
    for (const t of ticks(view.t0, view.t1, this.width / 110)) {
      line(pen, this.x(t), MARGIN.top, this.x(t), this.height - MARGIN.bottom, "grid", 1);
      pen.fillText(number(t) + " s", this.x(t), this.height - 7);
    }
    pen.textAlign = "right";
    for (const v of ticks(this.y0, this.y1, this.height / 40)) {
      line(pen, MARGIN.left, this.y(v), this.width - MARGIN.right, this.y(v), "grid", 1);
      pen.fillText(number(v), MARGIN.left - 6, this.y(v) + 4);
    }
    pen.textAlign = "left";
    pen.fillStyle = colour("ink");
    pen.fillText(this.title, MARGIN.left, 13);
  }
}

function ticks(low, high, count) {
  const rough = (high - low) / Math.max(count, 2);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) found.push(n * step);
  return found;
}
const number = (v) => (Math.abs(v) >= 1000 ? Math.round(v).toLocaleString("en") : String(+v.toPrecision(7)));

function line(pen, x0, y0, x1, y1, look, width) {
  pen.strokeStyle = colour(look);
  pen.lineWidth = width;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

function steps(pen, panel, times, values, look) {
  const [from, to] = rows(times);
  pen.strokeStyle = colour(look);
  pen.lineWidth = 1.2;
  pen.beginPath();
  for (let i = from; i < to; i++) {
    const x = panel.x(times[i]), y = panel.y(values[i]);
    if (i === from) pen.moveTo(x, y);
    else { pen.lineTo(x, panel.y(values[i - 1])); pen.lineTo(x, y); }
  }
  if (to > from) pen.lineTo(panel.x(Math.max(view.t1, times[to - 1])), panel.y(values[to - 1]));
  pen.stroke();
}

function polyline(pen, panel, times, values, look) {
  const [from, to] = rows(times);
  pen.strokeStyle = colour(look);
  pen.lineWidth = 1.2;
  pen.beginPath();
  let down = false;
  for (let i = from; i < to; i++) {
    if (Number.isNaN(values[i])) { down = false; continue; }
    if (down) pen.lineTo(panel.x(times[i]), panel.y(values[i])); else pen.moveTo(panel.x(times[i]), panel.y(values[i]));
    down = true;
  }
  pen.stroke();
}

function dots(pen, panel, times, values, look, shown) {
  const [from, to] = rows(times);
  pen.fillStyle = colour(look);
  for (let i = from; i < to; i++)
    if (!shown || shown(i)) pen.fillRect(panel.x(times[i]) - 1.3, panel.y(values[i]) - 1.3, 2.6, 2.6);
}

function sequence(pen, panel) {
  if (!hidden.has("window")) steps(pen, panel, acks.t, acks.edge, "window");
  if (!hidden.has("ack")) {
    steps(pen, panel, acks.t, acks.ack, "ack");
    const [from, to] = rows(acks.t);
    if (to - from < 600)
      for (let i = from; i < to; i++)
        line(pen, panel.x(acks.t[i]), panel.y(acks.ack[i]), panel.x(acks.t[i]), panel.y(acks.ack[i]) + 4, "ack", 1);
  }
  if (!hidden.has("sack")) {
    const [from, to] = rows(sacks.t);
    for (let i = from; i < to; i++)
      line(pen, panel.x(sacks.t[i]), panel.y(sacks.left[i]), panel.x(sacks.t[i]), panel.y(sacks.right[i]), "sack", 2);
  }
  const [from, to] = rows(segments.t);
  pen.font = "bold 11px system-ui, sans-serif";
  pen.textAlign = "center";
  for (let i = from; i < to; i++) {
    const group = data.groups[segments.group[i]];
    if (hidden.has(group.label)) continue;
    const x = panel.x(segments.t[i]), low = panel.y(segments.seq[i]), high = panel.y(segments.end[i]);
    const wide = segments.group[i] ? 2 : 1.2;
    line(pen, x, low, x, Math.min(high, low - 1), group.colour, wide);
    if (to - from < 400 && low - high > 6) {
      line(pen, x - 3, high, x + 3, high, group.colour, 1);
      line(pen, x - 3, low, x + 3, low, group.colour, 1);
    }
    if (group.letter && segments.len[i] + segments.group[i] > 0) {
      pen.fillStyle = colour(group.colour);
      pen.fillText(group.letter, x, high - 4);
    }
  }
}

// The range of values in view; `extra` is included.
function fit(extra, ...pairs) {
  let high = extra;
  for (const [times, values] of pairs) {
    const [from, to] = rows(times);
    for (let i = from; i < to; i++) if (values[i] > high) high = values[i];
  }
  return [0, 1.08 * high || 1];
}

function foot(pen, panel) {
  const [from, to] = rows(segments.t);
  for (let i = from; i < to; i++) {
    const group = data.groups[segments.group[i]];
    if (!group.again || hidden.has(group.label)) continue;
    const x = panel.x(segments.t[i]), y = panel.height - MARGIN.bottom;
    line(pen, x, y, x, y - 9, group.colour, 1.5);
  }
}

const panels = [new Panel("sequence", "sequence number (bytes)", 0.5, sequence, null)];
panels.push(new Panel("outstanding", "outstanding data (bytes)", 0.18, (pen, panel) => {
  if (!hidden.has("window")) steps(pen, panel, advertised.t, advertised.v, "window");
  steps(pen, panel, outstanding.t, outstanding.v, "segment");
  foot(pen, panel);
}, () => fit(0, [outstanding.t, outstanding.v])));
const METHODS = ["ack", "late", "sack", "segment"];
if (rtt.t.length)
  panels.push(new Panel("rtt", "round-trip time (ms): green by ACK, blue by timestamp, purple by SACK", 0.16,
    (pen, panel) => {
      METHODS.forEach((look, method) => dots(pen, panel, rtt.t, rtt.v, look, (i) => rtt.method[i] === method));
      foot(pen, panel);
    }, () => fit(0, [rtt.t, rtt.v])));
panels.push(new Panel("throughput", "Mbit/s: black in intervals, blue since the first, green goodput", 0.16,
  (pen, panel) => {
    steps(pen, panel, intervals.t, intervals.v, "segment");
    polyline(pen, panel, throughput.t, throughput.average, "late");
    polyline(pen, panel, goodput.t, goodput.v, "ack");
    foot(pen, panel);
  }, () => fit(0, [intervals.t, intervals.v], [goodput.t, goodput.v])));

let hover = null, frame = null, drag = null, waiting = false;
function paint() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; panels.forEach((panel) => panel.paint()); });
}

function showAll() {
  view = { ...whole };
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < segments.t.length; i++) {
    low = Math.min(low, segments.seq[i]);
    high = Math.max(high, segments.end[i]);
  }
  if (!(low < Infinity)) [low, high] = [0, 1];
  let edge = 0;
  for (const value of acks.edge) edge = Math.max(edge, value);
  if (edge - low < 1.7 * (high - low)) high = Math.max(high, edge);
  const margin = 0.05 * Math.max(high - low, 10);
  [view.y0, view.y1] = [low - margin, high + margin];
  paint();
}

function zoom(panel, x, y, factor, timeOnly) {
  const t = panel.t(x), v = panel.v(y);
  view.t0 = t - (t - view.t0) * factor;
  view.t1 = t + (view.t1 - t) * factor;
  if (!panel.range && !timeOnly) {
    view.y0 = v - (v - view.y0) * factor;
    view.y1 = v + (view.y1 - v) * factor;
  }
  paint();
}

function move(panel, dx, dy) {
  const dt = (dx / (panel.width - MARGIN.left - MARGIN.right)) * (view.t1 - view.t0);
  view.t0 -= dt;
  view.t1 -= dt;
  if (!panel.range) {
    const dv = (dy / panel.inner()) * (view.y1 - view.y0);
    view.y0 += dv;
    view.y1 += dv;
  }
  paint();
}

// What lies nearest to the pointer, as text; empty where nothing is near.
function nearest(panel, x, y) {
  let best = 14 ** 2, text = "";
  const near = (dx, dy, say) => {
    const distance = dx * dx + dy * dy;
    if (distance < best) { best = distance; text = say(); }
  };
  const reach = 14 * (view.t1 - view.t0) / panel.width;
  const t = panel.t(x);
  const span = (times) => [first(times, t - reach), first(times, t + reach)];
  if (panel.name === "sequence") {
    let [from, to] = span(segments.t);
    for (let i = from; i < to; i++) {
      const low = panel.y(segments.seq[i]), high = panel.y(segments.end[i]);
      const dy = y > low ? y - low : y < high ? high - y : 0;
      near(panel.x(segments.t[i]) - x, dy, () => segmentText(i));
    }
    [from, to] = span(acks.t);
    for (let i = from; i < to; i++)
      near(panel.x(acks.t[i]) - x, panel.y(acks.ack[i]) - y, () =>
        `packet ${acks.number[i]}, ${acks.t[i].toFixed(6)} s\nACK ${number(acks.ack[i])}, window ` +
        `${number(acks.edge[i] - acks.ack[i])}` + (acks.duplicate[i] ? `\nduplicate ${acks.duplicate[i]}` : ""));
  } else {
    const series = { outstanding: [[outstanding.t, outstanding.v, "bytes outstanding"]],
      rtt: [[rtt.t, rtt.v, "ms"]],
      throughput: [[intervals.t, intervals.v, "Mbit/s in the interval"],
        [goodput.t, goodput.v, "Mbit/s goodput"]] }[panel.name];
    for (const [times, values, unit] of series) {
      const [from, to] = span(times);
      for (let i = from; i < to; i++)
        near(panel.x(times[i]) - x, panel.y(values[i]) - y, () =>
          `${times[i].toFixed(6)} s\n${number(+values[i].toPrecision(5))} ${unit}`);
    }
  }
  return text;
}

function segmentText(i) {
  const group = data.groups[segments.group[i]];
  const why = data.why[segments.number[i]];
  return `packet ${segments.number[i]}, ${segments.t[i].toFixed(6)} s\n${group.label}\n` +
    `${number(segments.seq[i])} .. ${number(segments.end[i])} (${segments.len[i]} bytes), ` +
    `${number(segments.outstanding[i])} outstanding` + (why ? `\n${why}` : "");
}

const tip = document.getElementById("tip");
for (const panel of panels) {
  const canvas = panel.canvas;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(panel, event.offsetX, event.offsetY, Math.exp(event.deltaY * 0.0015), event.shiftKey);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    drag = [event.offsetX, event.offsetY];
    if (event.shiftKey)
      frame = { panel, x0: drag[0], y0: drag[1], x1: drag[0], y1: drag[1] };
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = [event.offsetX, event.offsetY];
    if (frame) Object.assign(frame, { x1: x, y1: y });
    else if (drag) { move(panel, x - drag[0], y - drag[1]); drag = [x, y]; }
    hover = panel.t(x);
    const text = drag ? "" : nearest(panel, x, y);
    tip.style.display = text ? "block" : "none";
    tip.textContent = text;
    tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
    paint();
  });
  canvas.addEventListener("pointerup", () => {
    if (frame && Math.abs(frame.x1 - frame.x0) > 4) {
      const [t0, t1] = [panel.t(Math.min(frame.x0, frame.x1)), panel.t(Math.max(frame.x0, frame.x1))];
      const [y0, y1] = [panel.v(Math.max(frame.y0, frame.y1)), panel.v(Math.min(frame.y0, frame.y1))];
      Object.assign(view, { t0, t1 }, panel.range || y1 <= y0 ? {} : { y0, y1 });
    }
    drag = frame = null;
    paint();
  });
  canvas.addEventListener("pointerleave", () => { hover = null; tip.style.display = "none"; paint(); });
  canvas.addEventListener("dblclick", showAll);
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) move(panel, ...step);
    else if (event.key === "+" || event.key === "-")
      zoom(panel, panel.width / 2, panel.height / 2, event.key === "+" ? 0.7 : 1.4, event.shiftKey);
    else if (event.key === "0") showAll();
    else return;
    event.preventDefault();
  });
}

function legend() {
  const entries = [...data.groups.map((group) => [group.label, group.letter || "|", group.colour]),
    ["ack", "—", "ack"], ["window", "—", "window"], ["sack", "▌", "sack"]];
  const names = { ack: "ACK level", window: "advertised window", sack: "SACK block" };
  for (const [key, mark, look] of entries) {
    if (key === "sack" && !sacks.t.length) continue;
    const label = document.createElement("label");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
    const sign = Object.assign(document.createElement("b"), { textContent: mark });
    sign.style.color = colour(look);
    label.append(box, sign, " ", names[key] || key);
    box.addEventListener("change", () => { box.checked ? hidden.delete(key) : hidden.add(key); paint(); });
    document.getElementById("legend").append(label);
  }
}

// Retransmissions as a list; a click shows the place.
function list() {
  const found = [];
  for (let i = 0; i < segments.t.length; i++) if (data.groups[segments.group[i]].again) found.push(i);
  if (!found.length) return;
  const table = document.createElement("table");
  table.innerHTML = "<thead><tr><th>packet<th>time<th>sequence number<th>cause<th>why</thead>";
  const body = table.createTBody();
  for (const i of found.slice(0, 2000)) {
    const group = data.groups[segments.group[i]], row = body.insertRow();
    const cells = [segments.number[i], segments.t[i].toFixed(6), number(segments.seq[i]), group.label,
      data.why[segments.number[i]] || ""];
    for (const cell of cells) row.insertCell().textContent = cell;
    row.cells[3].style.color = colour(group.colour);
    row.addEventListener("click", () => {
      const t = data.before[segments.number[i]] ?? segments.t[i];
      const width = Math.max(segments.t[i] - t, (whole.t1 - whole.t0) / 200);
      [view.t0, view.t1] = [t - 0.6 * width, segments.t[i] + 0.6 * width];
      const [from, to] = rows(segments.t);
      let low = segments.seq[i], high = segments.end[i];
      for (let k = from; k < to; k++) {
        low = Math.min(low, segments.seq[k]);
        high = Math.max(high, segments.end[k]);
      }
      [view.y0, view.y1] = [low - 0.15 * (high - low), high + 0.15 * (high - low)];
      paint();
    });
  }
  document.getElementById("again").append(table);
}

document.getElementById("title").textContent = data.title;
document.getElementById("facts").textContent = data.facts;
document.getElementById("all").addEventListener("click", showAll);
addEventListener("resize", () => { panels.forEach((panel) => panel.resize()); paint(); });
legend();
list();
panels.forEach((panel) => panel.resize());
showAll();
