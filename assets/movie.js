// Repeats the pushes of Algorithm 2 and draws them. Positions, weights and the order of the pushes
// are sent with the data, once; the server is not asked while it plays. Names are shown
// through textContent, never as markup.
const NS = "http://www.w3.org/2000/svg";
const movies = new WeakMap();

export default function ({ data, parentElement }) {
  const link = parentElement.getRootNode().querySelector("link[rel=stylesheet]");
  // The style comes by its own address; an unstyled page must not be measured.
  if (link && !link.sheet) link.addEventListener("load", () => mount(data, parentElement), { once: true });
  else mount(data, parentElement);
}

function mount(data, parentElement) {
  let m = movies.get(parentElement);
  if (!m || !m.root.isConnected) {
    m = create(parentElement.querySelector(".movie"));
    movies.set(parentElement, m);
  }
  const told = JSON.stringify(data);
  theme(m, data);
  if (told === m.told) return draw(m);
  m.told = told;
  load(m, data);
}

const html = (tag, name, parent, text) => {
  const el = document.createElement(tag);
  el.className = name;
  if (text !== undefined) el.textContent = text;
  parent?.append(el);
  return el;
};
const svg = (tag, parent, attributes) => {
  const el = document.createElementNS(NS, tag);
  for (const name in attributes) el.setAttribute(name, attributes[name]);
  parent?.append(el);
  return el;
};
const say = (el, text) => { if (el.textContent !== text) el.textContent = text; };
const put = (el, name, value) => { if ((el.was ??= {})[name] !== value) el.setAttribute(name, el.was[name] = value); };
const number = (v) => (v === 0 ? "0" : Math.abs(v) >= 1000 ? Math.round(v).toLocaleString("en-US") : String(Number(v.toPrecision(3))));
const short = (text, length) => ([...text].length > length ? [...text].slice(0, length - 1).join("") + "…" : text);
const SLIGHT = 1e-9;
const CALM = { play: 0.001, push: 0.01, exact: 0 };  // share of the mass above capacity that counts as none
// The words of a movie, and a sentence made of them.
const WORDS = {
  play: "Play",
  pause: "Pause",
  step: "Step",
  reset: "Reset",
  order: "Order",
  speed: "Speed",
  rate: "up to {number} a second",
  push: "Push",
  undo: "Undo",
  again: "Start again",
  fullest: "Push the fullest",
  pushes: "push {number}",
  algorithm: "Algorithm 2, push by push",
  exact: "Exact solution",
  excess: "Excess: share of the mass above capacity, %",
  objective: "Objective: F(x) above its minimum, log scale",
  curve: "{title}: from {first} to {last} at push {pushes}",
  released: "the released code stops here ({pushes})",
  overflows: "overflows",
  full: "full: retrieved, greener is more important",
  wet: "holds some mass",
  dry: "dry",
  less: "less than 0.1%",
  marks: "ring = what the node can hold, disc = what it holds, line = width of the pipe",
  holds: "{mass} of {capacity}",
  bucket: "{name} holds {mass} of {capacity}",
  bucketOver: "{name} holds {mass} of {capacity}, overflows: push it",
  panel: "{title}: {full} of {number} nodes full.",
  panelLive: "{title}, push {pushes}: {full} of {number} nodes full, a mass of {excess} above capacity.",
  hidden: "Nodes that are not drawn: {number}.",
  statusExact: "Full: {full} of {number} nodes. The question poured a mass of {source}.",
  statusStart: "A mass of {source} is at the sources.",
  statusPush: "Push {push}: {name} passed on {mass}.",
  statusPushOf: "Push {push} of {of}: {name} passed on {mass}.",
  won: "Done: almost nothing overflows. You are within {close} of the exact importance, after {push} pushes.",
  blue: "{share} of the mass overflows. Push a blue bucket.",
  done: "As good as nothing overflows any more; importance is within {close} of the exact solution.",
  above: "{share} of the mass lies above capacity.",
  unfinished: "{share} of the mass lies above capacity, and the film stops here: more pushes are needed.",
};
const word = (key, values = {}) => WORDS[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
const percentOf = (v) => (v > 0 && v < 0.001 ? word("less") : `${(100 * v).toFixed(1)}%`);

function create(root) {
  const m = { root, speed: 1, frames: 0 };
  m.views = html("div", "views", root);
  m.status = html("div", "status", root);
  m.status.setAttribute("role", "status");
  m.bar = html("div", "bar", root);
  m.curves = html("div", "curves", root);
  m.keys = html("div", "keys", root);
  new ResizeObserver(() => {
    if (m.data && m.views.clientWidth !== m.width) build(m);
  }).observe(m.views);
  return m;
}

function theme(m, data) {
  const [r, g, b] = getComputedStyle(m.root).caretColor.match(/[\d.]+/g).map(Number);
  m.root.dataset.theme = 0.3 * r + 0.6 * g + 0.1 * b < 110 ? "dark" : "light";
  m.stops = data.ramp[m.root.dataset.theme].map((c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)));
}

// ---- the algorithm

function load(m, data) {
  pause(m);
  m.data = data;
  const n = data.nodes.length, [us, vs, ws] = data.edges;
  m.near = Array.from({ length: n }, () => []);
  m.total = new Array(n).fill(0);
  us.forEach((u, i) => {
    m.near[u].push([vs[i], ws[i], i]);
    m.near[vs[i]].push([u, ws[i], i]);
  });
  m.near.forEach((ends, i) => { for (const [, w] of ends) m.total[i] += w; });
  m.source = data.nodes.reduce((sum, node) => sum + node.d, 0);
  m.top = Math.max(...data.nodes.map((node) => node.X), 1e-300);
  m.hand = [];
  m.exact = { x: data.nodes.map((node) => node.X), mass: data.nodes.map((node) => node.M) };
  choose(m, data.order);
}

function choose(m, order) {
  pause(m);
  m.take = m.data.takes.find((take) => take.order === order) ?? m.data.takes[0];
  start(m);
  m.excess = [m.left];
  m.gap = [m.objective - m.data.objective];
  for (const v of m.pushed()) {
    push(m, v);
    m.excess.push(m.left);
    m.gap.push(Math.max(m.objective - m.data.objective, 0));
  }
  start(m);
  build(m);
}

function start(m) {
  m.pushed = () => (m.data.mode === "push" ? m.hand : m.take.pushed);
  m.x = m.data.nodes.map(() => 0);
  m.mass = m.data.nodes.map((node) => node.d);
  m.left = m.mass.reduce((sum, mass, i) => sum + Math.max(0, mass - m.data.nodes[i].T), 0);
  m.objective = 0;
  m.k = 0;
  m.last = -1;
}

function push(m, v) {
  const T = m.data.nodes, over = m.mass[v] - T[v].T;
  m.x[v] += over / m.total[v];
  m.mass[v] = T[v].T;
  m.left -= over;
  for (const [u, w] of m.near[v]) {
    const before = Math.max(0, m.mass[u] - T[u].T);
    m.mass[u] += (over * w) / m.total[v];
    m.left += Math.max(0, m.mass[u] - T[u].T) - before;
  }
  m.objective -= (0.5 * over * over) / m.total[v];
  m.k += 1;
  m.last = v;
  m.amount = over;
}

function go(m, k) {
  if (k < m.k) start(m);
  const pushed = m.pushed();
  while (m.k < Math.min(k, pushed.length)) push(m, pushed[m.k]);
  draw(m);
}

function play(m) {
  if (m.k >= m.take.pushed.length) start(m);
  let then = performance.now(), due = 0;
  say(m.playButton, word("pause"));
  const frame = (now) => {
    // The first pushes one by one, each a fifth faster than the one before.
    due += ((now - then) / 1000) * Math.min(m.speed, 2 * 1.2 ** m.k);
    then = now;
    if (due >= 1) {
      go(m, m.k + Math.floor(due));
      due %= 1;
    }
    m.frames += 1;
    m.root.dataset.frames = m.frames;
    if (m.k >= m.take.pushed.length) pause(m);
    else m.playing = requestAnimationFrame(frame);
  };
  m.playing = requestAnimationFrame(frame);
}

function pause(m) {
  cancelAnimationFrame(m.playing);
  m.playing = null;
  if (m.playButton) say(m.playButton, word("play"));
}

// ---- the elements

function build(m) {
  const { data } = m, all = data.mode;
  m.width = m.views.clientWidth;
  m.views.replaceChildren();
  m.bar.replaceChildren();
  m.curves.replaceChildren();
  m.panels = [];
  // All cards first: they share the width.
  const cards = [all !== "exact", all !== "push"].map((wanted) => wanted && html("section", "card", m.views));
  if (cards[0]) m.panels.push(panel(m, cards[0], word("algorithm"), true));
  if (cards[1]) m.panels.push(panel(m, cards[1], word("exact"), false));
  if (all === "play") {
    m.playButton = button(m, word("play"), () => (m.playing ? pause(m) : play(m)));
    button(m, word("step"), () => { pause(m); go(m, m.k + 1); });
    button(m, word("reset"), () => { pause(m); go(m, 0); });
    const orders = html("select", "", label(m, word("order")));
    for (const take of data.takes) html("option", "", orders, take.name).value = take.order;
    orders.value = m.take.order;
    orders.onchange = () => choose(m, orders.value);
    // The default plays any run in about ten seconds; the range covers 1 to 500 pushes a second.
    const speed = range(label(m, word("speed")), 0, 100, 0);
    const told = html("span", "", speed.parentNode);
    const set = () => {
      m.speed = 500 ** (speed.value / 100);
      say(told, word("rate", { number: Math.round(m.speed) }));
      speed.setAttribute("aria-valuetext", told.textContent);
    };
    speed.value = m.wanted ?? (100 * Math.log(Math.max(2, m.take.pushed.length / 10))) / Math.log(500);
    speed.oninput = () => { m.wanted = speed.value; set(); };
    set();
    m.scrub = range(label(m, word("push"), "scrub"), 0, m.take.pushed.length, 0);
    m.scrub.oninput = () => { pause(m); go(m, Number(m.scrub.value)); };
    m.lines = [curve(m, word("excess"), m.excess.map((e) => (100 * e) / (m.source || 1))),
      curve(m, word("objective"), m.gap.map((g) => Math.log10(Math.max(g / (m.gap[0] || 1), 1e-9))), true)];
  }
  if (all === "push") {
    button(m, word("undo"), () => { m.hand.pop(); go(m, m.hand.length); });
    button(m, word("again"), () => { m.hand = []; go(m, 0); });
    button(m, word("fullest"), () => {
      const over = m.mass.map((mass, i) => mass - data.nodes[i].T), best = over.indexOf(Math.max(...over));
      if (over[best] > SLIGHT) byHand(m, best);
    });
  }
  legend(m);
  draw(m);
  requestAnimationFrame(() => { m.root.dataset.painted = 1; });
}

const button = (m, text, act) => {
  const el = html("button", "", m.bar, text);
  el.type = "button";
  el.onclick = act;
  return el;
};
const label = (m, text, name = "") => html("label", name, m.bar, text);
const range = (parent, min, max, value) => {
  const el = html("input", "", parent);
  Object.assign(el, { type: "range", min, max, step: "any", value });
  if (max > 200) el.step = 1;
  el.style.flex = "1";
  return el;
};

function byHand(m, v) {
  m.hand.push(v);
  go(m, m.hand.length);
}

function panel(m, el, title, live) {
  const { data } = m;
  html("div", "title", el, title);
  const width = Math.max(el.clientWidth, 280), pad = data.plain ? 44 : 26;
  // As Explore draws: seven tenths as high as wide.
  const height = data.plain ? Math.min(Math.max(width / data.aspect, 290), 380) : Math.max(0.7 * width, 300);
  const view = svg("svg", el, { viewBox: `0 0 ${width} ${height}`, role: data.mode === "push" ? "group" : "img" });
  const at = (p) => [pad + (p[0] / data.aspect) * (width - 2 * pad), pad + p[1] * (height - 2 * pad)];
  let shown = data.nodes.map((node) => node.at && at(node.at));
  if (!data.plain) shown = filling(shown, width, height, pad);
  const largest = Math.max(...data.nodes.map((node) => node.T));
  const unit = (data.plain ? Math.min(22, width / 16) : width < 400 ? 5 : 6.5) / Math.sqrt(largest);
  const [us, vs, ws] = data.edges, widest = Math.max(...ws, 1e-300);
  const edges = us.map((u, i) => shown[u] && shown[vs[i]] && svg("line", view, {
    class: "edge", x1: shown[u][0], y1: shown[u][1], x2: shown[vs[i]][0], y2: shown[vs[i]][1],
    "stroke-width": Math.max(data.plain ? 1 : 0.4, (data.plain ? 9 : 3) * Math.sqrt(ws[i] / widest)).toFixed(2) }));
  const size = data.nodes.map((node) => Math.max(unit * Math.sqrt(node.T), data.plain ? 8 : 3.5));
  const words = svg("g", null, {});
  const nodes = data.nodes.map((node, i) => {
    if (!shown[i]) return null;
    const [x, y] = shown[i], g = svg("g", view, {}), r = size[i];
    svg("circle", g, { class: "base", cx: x, cy: y, r: r.toFixed(2) });
    const disc = svg("circle", g, { class: "disc", cx: x, cy: y, r: 0 });
    svg("circle", g, { class: "ring", cx: x, cy: y, r: r.toFixed(2) });
    const amount = data.plain ? svg("text", words, { class: "amount", x, y: y + r + 15 }) : null;
    if (data.plain)
      svg("text", words, { x: Math.min(Math.max(x, 40), width - 40), y: y - r - 6 }).textContent = short(node.name, 18);
    if (live && data.mode === "push") {
      g.setAttribute("role", "button");
      g.setAttribute("data-bucket", node.name);
      g.onclick = () => { if (m.mass[i] - node.T > SLIGHT) byHand(m, i); };
      g.onkeydown = (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        g.onclick();
      };
      g.setAttribute("tabindex", 0);
    }
    svg("title", g, {}).textContent = node.name;
    return { g, disc, r, amount };
  });
  view.append(words);
  if (!data.plain) names(m, words, shown, size, width, height);
  return { view, nodes, edges, live, title };
}

// The same layout, as large as the panel has room for.
function filling(points, width, height, pad) {
  const drawn = points.filter(Boolean);
  if (!drawn.length) return points;
  const ends = [0, 1].map((axis) => [Math.min(...drawn.map((p) => p[axis])), Math.max(...drawn.map((p) => p[axis]))]);
  const room = [width - 2 * pad, height - 2 * pad];
  const zoom = Math.min(...ends.map(([low, high], axis) => room[axis] / Math.max(high - low, 1)), 4);
  return points.map((p) => p && p.map((v, axis) => (axis ? height : width) / 2 + zoom * (v - (ends[axis][0] + ends[axis][1]) / 2)));
}

// The sources and, in the order in which they fill, as many others as have room for their names.
function names(m, words, shown, size, width, height) {
  const { nodes } = m.data, first = [...new Set(m.take.pushed)];
  const order = [...first.filter((i) => nodes[i].d > 0), ...first.filter((i) => !(nodes[i].d > 0))];
  const taken = [], over = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  const gap = (a, b) => Math.hypot(Math.max(b[0] - a[2], 0, a[0] - b[2]), Math.max(b[1] - a[3], 0, a[1] - b[3]));
  const discs = shown.map((p, i) => p && [p[0] - size[i], p[1] - size[i], p[0] + size[i], p[1] + size[i]]);
  for (const i of order.filter((i) => shown[i])) {
    const [x, y] = shown[i], r = size[i], text = svg("text", words, {});
    text.textContent = short(nodes[i].name, 22);
    const half = text.getComputedTextLength() / 2;
    const places = [[x, y - r - 12], [x, y + r + 12], [x + r + half + 5, y], [x - r - half - 5, y]].map((at) => {
      const c = Math.min(Math.max(at[0], half + 2), width - half - 2), box = [c - half - 1, at[1] - 7, c + half + 1, at[1] + 7];
      const crossed = 3 * taken.filter((other) => over(box, other)).length + discs.filter((disc) => disc && over(box, disc)).length;
      // A name nearer to another node would seem to be that node's.
      const own = gap(box, discs[i]), foreign = discs.filter((disc, j) => disc && j !== i && gap(box, disc) < Math.min(own + 4, 12)).length;
      return { box, c, y: at[1] + 4, cost: foreign + crossed + (box[1] < 0 || box[3] > height ? 9 : 0) };
    });
    const best = places.reduce((a, b) => (b.cost < a.cost ? b : a));
    if (best.cost > 0 && !(nodes[i].d > 0)) { text.remove(); continue; }
    text.setAttribute("x", best.c.toFixed(1));
    text.setAttribute("y", best.y.toFixed(1));
    taken.push(best.box);
  }
}

function curve(m, title, values, logged = false) {
  const { data } = m, room = m.curves.clientWidth, width = room > 640 ? room / 2 - 10 : Math.max(room, 200), height = 90;
  const view = svg("svg", m.curves, { viewBox: `0 -16 ${width} ${height + 34}`, role: "img" });
  const low = logged ? Math.min(...values, -1) : 0, high = logged ? 0 : Math.max(...values, 1e-9);
  const last = Math.max(values.length - 1, 1), X = (k) => (k / last) * width, Y = (v) => height - ((v - low) / (high - low)) * height;
  view.setAttribute("aria-label", word("curve", { title, first: number(values[0]), last: number(values.at(-1)), pushes: values.length - 1 }));
  svg("text", view, { x: 0, y: -6 }).textContent = title;
  svg("line", view, { class: "axis", x1: 0, x2: width, y1: height, y2: height });
  const step = Math.max(1, Math.floor(values.length / 600));
  svg("polyline", view, { class: "curve", points: values.map((v, k) => [k, v]).filter(([k]) => k % step === 0 || k === last)
    .map(([k, v]) => `${X(k).toFixed(1)},${Y(v).toFixed(1)}`).join(" ") });
  if (last > data.released) {
    svg("line", view, { class: "stop", x1: X(data.released), x2: X(data.released), y1: 0, y2: height });
    const left = X(data.released) > width / 2, said = svg("text", view, { x: X(data.released) + (left ? -4 : 4), y: 10 });
    said.style.textAnchor = left ? "end" : "start";
    said.textContent = word("released", { pushes: data.released });
  }
  const now = svg("line", view, { class: "now", y1: 0, y2: height });
  svg("text", view, { x: 0, y: height + 14 }).textContent = "0";
  const end = svg("text", view, { x: width, y: height + 14 });
  end.style.textAnchor = "end";
  end.textContent = word("pushes", { number: values.length - 1 });
  return { now, X };
}

function legend(m) {
  m.keys.replaceChildren();
  for (const [color, text] of [["var(--over)", word("overflows")], [css(m, 0.6), word("full")],
    ["var(--wet)", word("wet")], ["transparent", word("dry")]]) {
    const item = html("span", "", m.keys);
    html("i", "", item).style.background = color;
    item.append(text);
  }
  html("span", "", m.keys, word("marks"));
}

// ---- one frame

const css = (m, t) => {
  const at = t * (m.stops.length - 1), i = Math.min(Math.floor(at), m.stops.length - 2), f = at - i;
  return `rgb(${m.stops[i].map((c, j) => Math.round(c + f * (m.stops[i + 1][j] - c)))})`;
};

function draw(m) {
  for (const p of m.panels) {
    const { x, mass } = p.live ? m : m.exact, plain = m.data.plain, calm = p.live && isCalm(m);
    const passed = p.live && m.last >= 0 ? new Set(m.near[m.last].map(([, , i]) => i)) : new Set();
    p.edges.forEach((e, i) => e && put(e, "class", passed.has(i) ? "edge hot" : "edge"));
    p.nodes.forEach((n, i) => {
      if (!n) return;
      const { T, d, name } = m.data.nodes[i], over = !calm && mass[i] - T > SLIGHT * Math.max(1, T) && (p.live || !x[i]);
      const state = over ? "over" : x[i] > 0 ? "full" : mass[i] > 0 ? "wet" : "dry";
      put(n.g, "class", `${state}${d > 0 ? " source" : ""}${p.live && i === m.last ? " last" : ""}`);
      put(n.disc, "r", (n.r * Math.min(Math.sqrt(mass[i] / T), plain ? 2.2 : 3.5)).toFixed(2));
      n.disc.style.fill = state === "full" ? css(m, Math.sqrt(Math.min(1, x[i] / m.top))) : "";
      if (n.amount) say(n.amount, word("holds", { mass: number(mass[i]), capacity: number(T) }));
      if (p.live && m.data.mode === "push") put(n.g, "aria-label", word(over ? "bucketOver" : "bucket", { name, mass: number(mass[i]), capacity: number(T) }));
    });
    const full = x.filter((v) => v > 0).length;
    put(p.view, "aria-label", word(p.live ? "panelLive" : "panel", { title: p.title, full, number: x.length, pushes: m.k, excess: number(Math.max(m.left, 0)) }));
  }
  m.root.dataset.push = m.k;
  m.root.dataset.mass = m.mass.reduce((a, b) => a + b, 0).toFixed(9);
  m.root.dataset.excess = Math.max(m.left, 0).toFixed(9);
  if (m.scrub && m.data.mode === "play") {
    m.scrub.value = m.k;
    for (const { now, X } of m.lines) { put(now, "x1", X(m.k).toFixed(1)); put(now, "x2", X(m.k).toFixed(1)); }
  }
  say(m.status, sentence(m));
}

// True if so little overflows that the algorithm ends; buckets are not blue then.
const isCalm = (m) => m.left <= Math.max(CALM[m.data.mode], SLIGHT) * (m.source || 1);

function sentence(m) {
  const { nodes, mode } = m.data, share = percentOf(Math.max(m.left, 0) / (m.source || 1)), source = number(m.source);
  const hidden = nodes.filter((node) => !node.at).length;
  const beside = hidden ? ` ${word("hidden", { number: hidden })}` : "";
  if (mode === "exact") return word("statusExact", { full: m.exact.x.filter((x) => x > 0).length, number: nodes.length, source }) + beside;
  const values = { push: m.k, of: m.take.pushed.length, name: m.last < 0 ? "" : short(nodes[m.last].name, 40), mass: number(m.amount ?? 0) };
  const did = m.last < 0 ? word("statusStart", { source }) : word(mode === "play" ? "statusPushOf" : "statusPush", values);
  const close = percentOf(Math.max(...m.x.map((x, i) => Math.abs(x - m.exact.x[i]))) / m.top);
  if (isCalm(m)) return `${did} ${word(mode === "push" ? "won" : "done", { close, push: m.k })}${beside}`;
  const ended = mode === "play" && m.k === m.take.pushed.length;
  return `${did} ${word(mode === "push" ? "blue" : ended ? "unfinished" : "above", { share })}${beside}`;
}
