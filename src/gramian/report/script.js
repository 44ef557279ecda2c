"use strict";
// Every text from the data goes into the page as text, never as HTML.
const content = JSON.parse(document.getElementById("content").textContent);
const PALETTE = ["#4477dd", "#e07b1f", "#2e9e5b", "#cc3d3d", "#9a5fd0", "#9b6a4f", "#e068b8", "#7d8694", "#b5a820", "#20b2c4"];
const byId = (id) => document.getElementById(id);
const percent = (share) => (100 * share).toFixed(100 * share < 10 ? 1 : 0) + " %";
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") element.textContent = value;
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
function draw(tag, options = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(options)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}
function colour(index) {
  if (index === null) return PALETTE[0];
  return content.classes.length <= PALETTE.length ? PALETTE[index] : `hsl(${(index * 137.5) % 360} 62% ${index % 2 ? 46 : 60}%)`;
}
// Rows: those that are known come first, then those that are held out.
const offset = content.held_out ? content.n_known : 0;
const labelOf = (row) => (content.labels === null ? null : content.labels[row]);
const className = (row) => (labelOf(row) === null ? "" : content.classes[labelOf(row)]);

function picture(row, scale) {
  const { shape: [height, width], pixels } = content.rows.pictures;
  const canvas = make("canvas", { width, height, style: `width:${width * scale}px;height:${height * scale}px;image-rendering:pixelated` });
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    const grey = 255 - parseInt(pixels[row].slice(2 * i, 2 * i + 2), 16);
    image.data.set([grey, grey, grey, 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// The heading.
function showHeading() {
  byId("title").textContent = content.title;
  byId("summary").textContent = `${content.model}: ${content.n_samples.toLocaleString("en")} samples, from ${content.n_features} features to ${content.n_components} numbers each.`;
  const tiles = [];
  if (content.judged) {
    const { before, after, components } = content.judged, count = content.n_components;
    const rival = components === null ? before.error : components, kind = after.error < rival ? "good" : after.error > rival ? "bad" : "";
    tiles.push([percent(before.error), `error of ${content.k} neighbours before, all ${content.n_features} features`, ""]);
    if (components !== null) tiles.push([percent(components), `with ${count} principal component${content.n_components === 1 ? "" : "s"}`, ""]);
    tiles.push([percent(after.error), `after, with ${count} learned number${content.n_components === 1 ? "" : "s"}`, kind]);
    tiles.push([percent(after.precision), `of neighbours share the class (before: ${percent(before.precision)})`, ""]);
  }
  if (!content.judged) tiles.push([String(content.n_components), content.n_components === 1 ? "number a sample" : "numbers a sample", ""]);
  for (const [number, text, kind] of tiles) byId("tiles").append(make("div", { class: `tile ${kind}` }, make("b", { text: number }), make("span", { text })));
  const judged = content.held_out
    ? `Judged on ${content.n_asked} rows that were held out, by their neighbours among ${content.n_known}.`
    : `Each of ${content.n_asked} rows is judged by the others. If the model has learned from these rows, the numbers after are optimistic.`;
  byId("footer").textContent = `${judged} Written by gramian ${content.version}. This page loads nothing from elsewhere.`;
}

// The map: points move between the plane before and the plane after.
const map = { side: "after", x: 0, y: 1, hidden: new Set(), points: [], hover: -1, progress: 1, from: null, to: null };
const canvas = byId("canvas"), tip = byId("tip");
function planeOf(side) {
  const axes = content.map[side], x = side === "after" ? map.x : 0, y = side === "after" ? Math.min(map.y, axes.length - 1) : 1;
  const [a, b] = [axes[x], axes[y]], range = (v) => [Math.min(...v), Math.max(...v)];
  const [[left, right], [low, high]] = [range(a), range(b)], span = Math.max(right - left, high - low) || 1;
  return a.map((value, i) => [(value - (left + right) / 2) / span, (b[i] - (low + high) / 2) / span]);
}
function layOut() {
  const { width, height } = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const ease = map.progress < 0.5 ? 2 * map.progress ** 2 : 1 - 2 * (1 - map.progress) ** 2;
  const spread = (plane) => {
    let wide = 0, tall = 0;
    for (const [x, y] of plane) { wide = Math.max(wide, Math.abs(x)); tall = Math.max(tall, Math.abs(y)); }
    return Math.min((width / 2 - 14) / (wide || 1), (height / 2 - 14) / (tall || 1));
  };
  const [s, t] = [spread(map.from), spread(map.to)];
  map.points = map.to.map(([x, y], i) => {
    const [u, v] = map.from[i];
    return [width / 2 + (1 - ease) * s * u + ease * t * x, height / 2 - (1 - ease) * s * v - ease * t * y];
  });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const radius = map.points.length > 800 ? 3 : 4;
  map.points.forEach(([x, y], i) => {
    if (map.hidden.has(labelOf(offset + i))) return;
    context.globalAlpha = 0.75;
    context.fillStyle = colour(labelOf(offset + i));
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fill();
  });
  context.globalAlpha = 1;
  if (map.hover >= 0) {
    const [x, y] = map.points[map.hover];
    context.strokeStyle = style("--text");
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, radius + 4, 0, 7);
    context.stroke();
  }
}
function moveTo(side) {
  const before = map.to || planeOf(side);
  map.side = side;
  map.from = before;
  map.to = planeOf(side);
  map.hover = -1;
  tip.hidden = true;
  byId("show-before").setAttribute("aria-pressed", side === "before");
  byId("show-after").setAttribute("aria-pressed", side === "after");
  byId("axes-label").hidden = side === "before" || content.map.after.length < 3;
  byId("map-explain").textContent = (side === "after"
    ? `Samples in the learned distance` + (content.n_components > 2 ? `, along two of its ${content.n_components} dimensions` : "")
    : `Samples before learning, along two of ${content.n_features} dimensions`) + (content.labels ? ", turned so that class means are far apart." : ".") + (content.held_out ? " These rows were held out." : "") +
    " Point at a sample to see its row; click it to see its neighbours below; a class is hidden and shown by its button.";
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches, begin = performance.now();
  map.progress = still || before === map.to ? 1 : 0;
  const tick = (now) => {
    map.progress = Math.min(1, Math.max(map.progress, (now - begin) / 700));
    layOut();
    if (map.progress < 1) requestAnimationFrame(tick);
  };
  tick(begin);
}
function nearestPoint(event) {
  const box = canvas.getBoundingClientRect(), [x, y] = [event.clientX - box.left, event.clientY - box.top];
  let best = -1, least = 15 ** 2;
  map.points.forEach(([u, v], i) => {
    const square = (u - x) ** 2 + (v - y) ** 2;
    if (square < least && !map.hidden.has(labelOf(offset + i))) [best, least] = [i, square];
  });
  return best;
}
function showTip(event) {
  const found = nearestPoint(event);
  if (found !== map.hover) { map.hover = found; layOut(); }
  tip.hidden = found < 0;
  if (found < 0) return;
  const row = offset + found, table = make("table");
  if (!content.rows.pictures) content.rows.names.forEach((name, j) => table.append(make("tr", {}, make("td", { text: name }), make("td", { text: content.rows.cells[row][j] }))));
  const heading = (content.labels ? `${className(row)} · ` : "") + `row ${content.rows.numbers[row]}`;
  tip.replaceChildren(make("b", { text: heading }), ...(content.rows.pictures ? [picture(row, 9)] : [table]));
  const [x, y] = map.points[found], width = canvas.getBoundingClientRect().width;
  tip.style.left = `${Math.max(4, Math.min(x + 14, width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${y + 14}px`;
}
function showMap() {
  const counts = new Map();
  for (let i = 0; i < content.map.after[0].length; i++) counts.set(labelOf(offset + i), (counts.get(labelOf(offset + i)) || 0) + 1);
  content.classes.forEach((name, index) => {
    const button = make("button", { type: "button", "aria-pressed": "true", title: `${counts.get(index) || 0} samples` }, make("span", { class: "dot", style: `background:${colour(index)}` }), name);
    button.addEventListener("click", () => {
      map.hidden.has(index) ? map.hidden.delete(index) : map.hidden.add(index);
      button.setAttribute("aria-pressed", !map.hidden.has(index));
      map.hover = -1;
      tip.hidden = true;
      layOut();
    });
    byId("legend").append(button);
  });
  for (const [id, key] of [["axis-x", "x"], ["axis-y", "y"]]) {
    content.map.after.forEach((_, k) => byId(id).append(make("option", { value: k, text: k + 1 })));
    byId(id).value = map[key];
    byId(id).addEventListener("change", (event) => { map[key] = Number(event.target.value); moveTo("after"); });
  }
  byId("show-before").addEventListener("click", () => moveTo("before"));
  byId("show-after").addEventListener("click", () => moveTo("after"));
  canvas.addEventListener("pointermove", showTip);
  canvas.addEventListener("pointerdown", showTip);
  canvas.addEventListener("pointerleave", () => { map.hover = -1; tip.hidden = true; layOut(); });
  canvas.addEventListener("click", (event) => {
    const found = nearestPoint(event);
    if (found < 0) return;
    showExamples(found);
    byId("neighbours").scrollIntoView({ behavior: "smooth", block: "nearest" });
  });
  window.addEventListener("resize", layOut);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", layOut);
  moveTo("after");
}

// Neighbours of single samples.
function mark(row, query) {
  return content.labels === null ? "" : labelOf(row) === labelOf(query) ? "same" : "other";
}
function exampleOfPictures(query, near) {
  const strip = make("div", { class: "strip" });
  const card = (row, kind) => make("div", { class: `card ${kind}`, title: `row ${content.rows.numbers[row]}` }, picture(row, 5), make("span", { text: className(row) }));
  strip.append(make("span", { text: "query" }), make("div", { class: "cards" }, card(offset + query, "")));
  for (const side of ["before", "after"]) strip.append(make("span", { text: side }), make("div", { class: "cards" }, ...near[side].map((row) => card(row, mark(row, offset + query)))));
  return make("div", { class: "example pictures" }, strip);
}
function exampleOfRows(query, near) {
  const head = make("tr", {}, make("th", { text: "" }), make("th", { text: content.labels ? "class" : "" }), make("th", { text: "row" }), ...content.rows.names.map((name) => make("th", { text: name })));
  const table = make("table", {}, head);
  const line = (name, row, kind) => make("tr", kind === "query" ? { class: "query" } : {}, make("td", { text: name }), make("td", { class: `mark ${kind}`, text: className(row) }), make("td", { text: content.rows.numbers[row] }), ...content.rows.cells[row].map((cell) => make("td", { text: cell })));
  table.append(line("query", offset + query, "query"));
  for (const side of ["before", "after"]) near[side].forEach((row, i) => table.append(line(i ? "" : side, row, mark(row, offset + query))));
  return make("div", { class: "example rows" }, table);
}
function showExamples(clicked = null) {
  const chosen = clicked === null ? content.examples : [clicked, ...content.examples.filter((i) => i !== clicked)];
  const build = content.rows.pictures ? exampleOfPictures : exampleOfRows;
  byId("examples").className = content.rows.pictures ? "pair" : "";
  byId("examples").replaceChildren(...chosen.slice(0, content.rows.pictures ? 6 : 4).map((i) => build(i, { before: content.neighbours.before[i], after: content.neighbours.after[i] })));
  byId("examples").dataset.query = chosen[0];
}
function showNeighbours() {
  const how = content.judged ? "The first ones are samples where the vote of the neighbours differs before and after, for better or worse, as far as there are such; the others are random." : "The samples are random.";
  byId("neighbours-explain").textContent = `A sample, its ${content.k} nearest in plain distance (before) and in the learned one (after), nearest first. ${how}` + (content.labels ? " Green and solid: the same class; red and dashed: another." : "");
  showExamples();
}

// Confusion.
function confusionTable(side) {
  const { confusion, shown, error } = content.judged[side], table = make("table", { class: "confusion" });
  table.append(make("caption", { text: `${side}: ${percent(error)} wrong` }));
  table.append(make("tr", {}, make("th", { text: "" }), ...shown.map((c) => make("th", { text: content.classes[c], title: content.classes[c] }))));
  confusion.forEach((row, i) => {
    const total = row.reduce((a, b) => a + b, 0) || 1;
    const cells = row.map((count, j) => {
      const share = count / total;
      const cell = make("td", { text: count || "", title: `${content.classes[shown[i]]} taken for ${content.classes[shown[j]]}: ${count}` });
      cell.style.background = count ? `rgba(${i === j ? style("--heat") : "214, 69, 43"}, ${i === j ? 0.15 + 0.45 * share : 0.2 + 0.8 * Math.min(1, 3 * share)})` : "transparent";
      return cell;
    });
    table.append(make("tr", {}, make("th", { text: content.classes[shown[i]], title: content.classes[shown[i]] }), ...cells));
  });
  return make("div", { class: "scroll" }, table);
}
function showConfusion() {
  if (!content.judged) { byId("confusion").hidden = true; return; }
  const all = content.judged.after.shown.length === content.classes.length ? "" : ` The ${content.judged.after.shown.length} largest of ${content.classes.length} classes are shown.`;
  byId("confusion-explain").textContent = `Rows are true classes, columns the vote of the ${content.k} nearest neighbours; mistakes are red.${all}`;
  byId("confusions").append(confusionTable("before"), confusionTable("after"));
}

// Bars, curves and lists.
function bars(entries, chosen = null) {
  const box = make("div", { class: "bars" }), most = Math.max(...entries.map((entry) => entry[1]), 1e-12);
  for (const [name, value] of entries) {
    const fill = make("div", { class: "fill" });
    fill.style.width = `${(100 * Math.max(value, 0)) / most}%`;
    box.append(make("span", { class: name === chosen ? "name chosen" : "name", text: name, title: name }), make("div", { class: "track" }, fill), make("span", { class: name === chosen ? "chosen" : "", text: percent(value) }));
  }
  return box;
}
function showFeatures() {
  const { names, shares, all, count } = content.features;
  byId("features-explain").textContent = "The share of each feature in the squared distances of samples, on average." + (names.length < count ? ` The ${names.length} largest of ${count}.` : "");
  if (content.rows.pictures && all.length === content.rows.pictures.pixels[0].length / 2) {
    const [height, width] = content.rows.pictures.shape, most = Math.max(...all);
    const grid = make("canvas", { width, height, id: "feature-picture", role: "img", "aria-label": "The pixels that matter", style: `width:${28 * width}px;max-width:100%;image-rendering:pixelated;border-radius:6px` });
    const context = grid.getContext("2d");
    all.forEach((share, i) => {
      context.fillStyle = `rgba(31, 111, 235, ${share / most})`;
      context.fillRect(i % width, Math.floor(i / width), 1, 1);
    });
    byId("features-explain").textContent = `The share of each pixel in the squared distances of samples, on average: none to ${percent(most)}.`;
    byId("feature-bars").append(grid);
  } else byId("feature-bars").append(bars(names.map((name, i) => [name, shares[i]])));
}
function showSpectrum() {
  const values = content.spectrum, most = Math.max(...values) || 1, width = 400, height = 190, step = (width - 50) / values.length;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Eigenvalues" });
  values.forEach((value, i) => {
    const tall = Math.max(1, ((height - 40) * value) / most), bar = draw("rect", { class: "bar", x: 46 + i * step + 0.1 * step, y: height - 22 - tall, width: Math.min(0.8 * step, 46), height: tall, rx: 2 });
    bar.append(draw("title", {}, `${i + 1}: ${value.toPrecision(4)}`));
    svg.append(bar);
    if (values.length <= 16 || i % Math.ceil(values.length / 12) === 0) svg.append(draw("text", { x: 46 + i * step + 0.1 * step + Math.min(0.4 * step, 23), y: height - 6, "text-anchor": "middle" }, i + 1));
  });
  svg.append(draw("text", { x: 42, y: 16, "text-anchor": "end" }, most.toPrecision(2)), draw("text", { x: 42, y: height - 20, "text-anchor": "end" }, "0"), draw("line", { class: "axis", x1: 46, x2: width, y1: height - 21, y2: height - 21 }));
  byId("spectrum-plot").append(svg);
}
function showConvergence() {
  const { iteration, cost, seconds } = content.convergence, width = 400, height = 210, left = 52, bottom = 30;
  const spent = Object.values(content.timings).reduce((a, b) => a + b, 0);
  byId("convergence-explain").textContent = `${content.n_iter} iterations, ${seconds[seconds.length - 1].toPrecision(3)} s in all, of which ${spent.toPrecision(2)} s outside the iterations. Rounds search for neighbours anew, so the cost may jump between them.`;
  const logarithmic = cost.every((value) => value > 0) && Math.max(...cost) > 20 * Math.min(...cost);
  const height_of = logarithmic ? Math.log10 : (value) => value, ys = cost.map(height_of);
  const [low, high] = [Math.min(...ys), Math.max(...ys)], last = Math.max(iteration[iteration.length - 1], 1);
  const x = (value) => left + ((width - left - 8) * value) / last, y = (value) => 10 + ((height - bottom - 16) * (high - value)) / (high - low || 1);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Cost by iteration" });
  svg.append(draw("line", { class: "axis", x1: left, x2: width, y1: height - bottom, y2: height - bottom }), draw("line", { class: "axis", x1: left, x2: left, y1: 4, y2: height - bottom }));
  svg.append(draw("path", { class: "curve", d: ys.map((value, i) => `${i ? "L" : "M"}${x(iteration[i]).toFixed(1)} ${y(value).toFixed(1)}`).join("") }));
  svg.append(draw("text", { x: left - 6, y: 14, "text-anchor": "end" }, Math.max(...cost).toPrecision(3)), draw("text", { x: left - 6, y: height - bottom - 2, "text-anchor": "end" }, Math.min(...cost).toPrecision(3)));
  svg.append(draw("text", { x: left, y: height - 12 }, "0"), draw("text", { x: width - 4, y: height - 12, "text-anchor": "end" }, `iteration ${last}`), draw("text", { x: left + 8, y: 14 }, logarithmic ? "cost, logarithmic" : "cost"));
  byId("convergence-plot").append(svg);
}
function showChoice() {
  const body = byId("choice-body"), { choice, ranks } = content;
  if (choice && Object.keys(choice.errors).length) {
    body.append(make("p", { class: "explain", text: "Ways of learning were tried on a part of the samples. The one with the lowest error of nearest neighbours on held-out samples was taken, the first of those within 3 %. “start” and “euclid” learn nothing." }));
    body.append(bars(Object.entries(choice.errors).sort((a, b) => a[1] - b[1]), choice.plan));
  } else body.append(make("p", { class: "explain", text: choice ? `Too few samples to hold some out: the usual way was taken, ${choice.plan}.` : "There was nothing to choose: the way of learning was given." }));
  if (ranks) {
    body.append(make("p", { class: "explain", text: `The number of components was chosen by cross-validation; the mean score by number:` }));
    body.append(bars(ranks.ranks.map((rank, i) => [String(rank), ranks.mean[i]]), String(content.n_components)));
  }
  body.append(make("p", { text: `The fit ended: ${content.message}.` }));
}
showHeading();
showMap();
showNeighbours();
showConfusion();
showFeatures();
showSpectrum();
showChoice();
showConvergence();
byId("loading-code").textContent = content.loading;
document.documentElement.dataset.ready = "yes";
