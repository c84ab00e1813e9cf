// Draws the map of a workspace on a canvas: thousands of names, with zoom, search and communities.
// Places are given; names are shown through textContent and fillText, never as markup.
const HUES = {
  light: ["#332288", "#44aa99", "#cc6677", "#b08d00", "#117733", "#3f8fc4", "#aa4499", "#7d7d1e"],
  dark: ["#77aadd", "#ee8866", "#44bb99", "#eedd88", "#ffaabb", "#bbcc33", "#99ddff", "#aaaa00"],
};
const OTHERS = { light: "#8d8d8d", dark: "#8a9098" };
const SIDE = 34, TOP = 66, BOTTOM = 26, ASPECT = 1.6;
const ROOM = 6500;      // square pixels for each name that is written
const FEW = 151;       // names that have room to be larger, and not to be written over
const REACH = 14;       // pixels from a name's dot at which it is under the pointer
const MOVING = 4000;    // edges that are drawn while the map moves; all at rest
const FOUND = 6;        // names that a search lists
const MOST = 60;        // how far it zooms
const maps = new WeakMap(), turns = new WeakMap();
const put = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const unpack = (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();

export default function ({ data, parentElement, setStateValue }) {
  const turn = (turns.get(parentElement) ?? 0) + 1;
  turns.set(parentElement, turn);
  unpack(data).then((value) => {
    if (turns.get(parentElement) !== turn || !parentElement.isConnected) return;
    let m = maps.get(parentElement);
    if (!m || !m.root.isConnected) maps.set(parentElement, m = create(parentElement.querySelector(".map")));
    m.send = (id) => setStateValue("selected", id);
    load(m, value);
  });
}

const html = (tag, name, parent, text) => {
  const el = document.createElement(tag);
  el.className = name;
  if (text !== undefined) el.textContent = text;
  parent?.append(el);
  return el;
};

const words = {
  find: "Find a name", out: "Zoom out", in: "Zoom in", reset: "Show everything", found: "{number} found",
  members: "{number} names", passage: "{number} passage", passages: "{number} passages",
  hint: "click selects · drag pans · ctrl + wheel zooms · colors are communities",
  touch: "a tap selects · two fingers zoom",
};

function create(root) {
  const m = { root, k: 1, x: 0, y: 0, over: -1, chosen: -1, hits: [] };
  root.replaceChildren();
  m.frame = html("div", "frame", root);
  m.canvas = html("canvas", "sheet", m.frame);
  m.canvas.tabIndex = 0;
  m.canvas.setAttribute("role", "img");
  m.pen = m.canvas.getContext("2d");
  const tools = html("div", "tools", m.frame);
  m.search = html("input", "search", tools);
  Object.assign(m.search, { type: "search", placeholder: words.find, ariaLabel: words.find, autocomplete: "off", spellcheck: false });
  for (const [name, mark, act] of [["out", "−", () => zoom(m, 1 / 1.5)], ["in", "+", () => zoom(m, 1.5)], ["reset", "⤢", () => home(m)]]) {
    const button = html("button", "tool", tools, mark);
    button.title = button.ariaLabel = words[name];
    button.onclick = act;
  }
  m.list = html("div", "found", m.frame);
  m.tip = html("div", "tip", m.frame);
  m.status = html("div", "status", m.frame);
  m.status.setAttribute("role", "status");
  m.legend = html("div", "legend", root);
  m.search.oninput = () => find(m);
  m.search.onkeydown = (event) => {
    if (event.key === "Enter" && m.hits.length) go(m, m.hits[0]);
    if (event.key === "Escape") { m.search.value = ""; find(m); }
  };
  pointers(m);
  new ResizeObserver(() => fit(m)).observe(root);
  return m;
}

function load(m, data) {
  const fresh = m.data?.ids.join() !== data.ids.join();
  m.data = data;
  m.canvas.ariaLabel = data.caption;
  if (fresh) {
    const n = data.ids.length, [us, vs, shared] = data.edges, top = Math.sqrt(Math.max(1, ...data.passages));
    m.near = Array.from({ length: n }, () => []);
    us.forEach((u, i) => { m.near[u].push(vs[i]); m.near[vs[i]].push(u); });
    m.size = data.passages.map((count) => 1.7 + 6 * Math.sqrt(count) / top);
    m.most = Math.max(1, ...shared);
    m.home = data.places.map(([x, y]) => [x / 10000, y / 10000]);
    m.fold = data.names.map((name) => name.toLowerCase());
    m.only = -1;
    legend(m);
  }
  m.chosen = data.ids.indexOf(data.selected);
  if (fresh) { fit(m); home(m); } else draw(m);
  m.root.dataset.painted = data.run;
}

function legend(m) {
  m.legend.replaceChildren();
  m.data.communities.forEach(({ title, count }, at) => {
    const chip = html("button", "chip", m.legend, title);
    chip.title = put(words.members, { number: count.toLocaleString("en-US") });
    chip.setAttribute("aria-pressed", "false");
    chip.onclick = () => {
      m.only = m.only === at ? -1 : at;
      [...m.legend.children].forEach((el, i) => el.setAttribute("aria-pressed", String(i === m.only)));
      draw(m);
    };
  });
  html("span", "hint", m.legend, matchMedia("(pointer: coarse)").matches ? words.touch : words.hint);
}

// ---- view

function fit(m) {
  if (!m.data) return;
  const ratio = window.devicePixelRatio || 1;
  m.w = m.frame.clientWidth;
  m.h = Math.round(clamp(m.w / ASPECT, 300, Math.max(360, innerHeight * 0.72)));
  Object.assign(m.canvas, { width: Math.round(m.w * ratio), height: Math.round(m.h * ratio) });
  m.canvas.style.height = `${m.h}px`;
  m.ratio = ratio;
  view(m, m.k, m.x, m.y);
}

const home = (m) => view(m, 1, 0, 0);
const zoom = (m, by, px = m.w / 2, py = m.h / 2) => {
  const k = clamp(m.k * by, 1, MOST), real = k / m.k;
  view(m, k, px - (px - m.x) * real, py - (py - m.y) * real);
};

// Shows the map `k` times as large, moved by (x, y) pixels; it never leaves the frame.
function view(m, k, x, y) {
  Object.assign(m, { k, x: clamp(x, m.w * (1 - k), 0), y: clamp(y, m.h * (1 - k), 0) });
  m.canvas.style.touchAction = k > 1 ? "none" : "pan-y";
  m.root.dataset.zoom = k.toFixed(2);
  draw(m, true);
  clearTimeout(m.rest);
  m.rest = setTimeout(() => draw(m), 120);
}

const at = (m, i) => [
  m.x + m.k * (SIDE + m.home[i][0] * (m.w - 2 * SIDE)), m.y + m.k * (TOP + m.home[i][1] * (m.h - TOP - BOTTOM))];

// Asks for one drawing in the next frame; a drawing of a moving map leaves weak edges out.
function draw(m, moving = false) {
  m.moving = moving;
  m.asked ??= requestAnimationFrame(() => { m.asked = undefined; paint(m, m.moving); });
}

function paint(m, moving) {
  if (!m.data || !m.w) return;
  const { pen, data } = m, n = data.ids.length, style = getComputedStyle(m.root);
  const [r, g, b] = style.color.match(/[\d.]+/g).map(Number);
  const theme = 0.3 * r + 0.6 * g + 0.1 * b > 130 ? "dark" : "light";
  const ink = `${r},${g},${b}`, hot = style.getPropertyValue("--st-primary-color") || "#c60";
  const color = (i) => HUES[theme][data.community[i]] ?? OTHERS[theme];
  [...m.legend.querySelectorAll(".chip")].forEach((el, i) => el.style.setProperty("--hue", HUES[theme][i]));
  const focus = m.over >= 0 ? m.over : m.chosen;
  const lit = focus >= 0 ? new Set([focus, ...m.near[focus]]) : m.hits.length ? new Set(m.hits)
    : m.only >= 0 ? new Set([...Array(n).keys()].filter((i) => data.community[i] === m.only)) : null;
  pen.setTransform(m.ratio, 0, 0, m.ratio, 0, 0);
  pen.clearRect(0, 0, m.w, m.h);
  const spots = data.ids.map((_, i) => at(m, i));
  const inside = ([x, y], by = 0) => x > -by && y > -by && x < m.w + by && y < m.h + by;
  edges(m, spots, moving, theme, ink, lit, focus, hot, inside);
  for (let i = n - 1; i >= 0; i--) {
    const [x, y] = spots[i];
    if (!inside(spots[i], 20)) continue;
    pen.globalAlpha = !lit || lit.has(i) ? 1 : 0.16;
    pen.beginPath();
    pen.arc(x, y, radius(m, i), 0, 7);
    pen.fillStyle = color(i);
    pen.fill();
    if (i === m.chosen) { pen.lineWidth = 2.5; pen.strokeStyle = hot; pen.stroke(); }
  }
  pen.globalAlpha = 1;
  names(m, spots, ink, lit, focus, style, inside);
  m.root.dataset.drawn = (Number(m.root.dataset.drawn) || 0) + 1;
}

const radius = (m, i) => m.size[i] * Math.min(2.4, m.k ** 0.35) * (m.data.ids.length < FEW ? 1.5 : 1);

function edges(m, spots, moving, theme, ink, lit, focus, hot, inside) {
  const { pen } = m, [us, vs, shared] = m.data.edges, faint = us.length > 2000 ? 0.1 : 0.3;
  const last = moving ? Math.min(MOVING, us.length) : us.length;
  for (const strong of [false, true]) {
    pen.beginPath();
    for (let i = 0; i < last; i++) {
      const u = us[i], v = vs[i];
      if (shared[i] > 1 !== strong || !(inside(spots[u]) || inside(spots[v])) || lit && !(lit.has(u) && lit.has(v))) continue;
      pen.moveTo(...spots[u]);
      pen.lineTo(...spots[v]);
    }
    pen.strokeStyle = `rgba(${ink},${(strong ? 2 : 1) * faint * (theme === "dark" ? 1.2 : 1)})`;
    pen.lineWidth = strong ? 1.1 : 0.7;
    pen.stroke();
  }
  if (focus < 0) return;
  pen.beginPath();
  for (const other of m.near[focus]) { pen.moveTo(...spots[focus]); pen.lineTo(...spots[other]); }
  Object.assign(pen, { strokeStyle: hot, lineWidth: 1.6, globalAlpha: 0.75 });
  pen.stroke();
  pen.globalAlpha = 1;
}

// True where a box lies apart from another one, or from a point.
const apart = (box, [left, top, right = left, bottom = top]) => box[0] > right || box[2] < left || box[1] > bottom || box[3] < top;

// Writes the names of most passages in view, none over another.
function names(m, spots, ink, lit, focus, style, inside) {
  const { pen, data } = m, most = Math.max(10, m.w * m.h / ROOM);
  const order = lit ? [...lit].sort((a, b) => (b === focus) - (a === focus) || a - b) : data.ids.keys();
  const paper = style.getPropertyValue("--st-background-color") || "#fff";
  const taken = data.ids.length < FEW ? [...spots] : []; // boxes of names, and points of dots
  let written = 0;
  for (const i of order) {
    if (written >= most && data.ids.length >= FEW) break;
    const [x, y] = spots[i];
    if (!inside(spots[i], -4)) continue;
    const large = i === focus || i === m.chosen || written < 8;
    pen.font = `${large ? 600 : 500} ${large ? 13 : 11.5}px ${style.fontFamily}`;
    const text = data.names[i], wide = pen.measureText(text).width, r = radius(m, i) + 3;
    const place = [[x + r, y], [x - r - wide, y], [x - wide / 2, y + r + 7], [x - wide / 2, y - r - 7]].find(([left, line]) => {
      const box = [left - 3, line - 8, left + wide + 3, line + 8];
      return left > 2 && left + wide < m.w - 2 && taken.every((o) => o === spots[i] || apart(box, o)) && taken.push(box);
    });
    if (!place) continue;
    const [left, line] = place;
    written++;
    Object.assign(pen, { lineWidth: 3.5, lineJoin: "round", strokeStyle: paper, textBaseline: "middle", fillStyle: `rgb(${ink})` });
    pen.strokeText(text, left, line);
    pen.fillText(text, left, line);
  }
  m.root.dataset.named = written;
}

// ---- search and choice

function find(m) {
  const text = m.search.value.trim().toLowerCase();
  m.hits = text ? m.fold.flatMap((name, i) => name.includes(text) ? [i] : []) : [];
  m.list.replaceChildren();
  for (const i of m.hits.slice(0, FOUND)) html("button", "hit", m.list, m.data.names[i]).onclick = () => go(m, i);
  m.status.textContent = text ? put(words.found, { number: m.hits.length.toLocaleString("en-US") }) : "";
  draw(m);
}

// Chooses a name and brings it to the middle, near enough to read what is around it.
function go(m, i) {
  m.search.value = "";
  find(m);
  const k = Math.max(m.k, m.data.ids.length > FEW ? 4 : 1.6), [x, y] = at(m, i);
  view(m, k, m.w / 2 - k * (x - m.x) / m.k, m.h / 2 - k * (y - m.y) / m.k);
  choose(m, i);
}

function choose(m, i) {
  m.chosen = i;
  m.root.dataset.selected = i < 0 ? "" : m.data.ids[i];
  m.send(i < 0 ? null : m.data.ids[i]);
  draw(m);
}

function under(m, [px, py]) {
  let best = -1, least = REACH ** 2;
  for (let i = 0; i < m.data.ids.length; i++) {
    const [x, y] = at(m, i), d = (x - px) ** 2 + (y - py) ** 2;
    if (d < least) { least = d; best = i; }
  }
  return best;
}

function hover(m, i, [x, y] = [0, 0]) {
  if (i >= 0) {
    const count = m.data.passages[i];
    m.tip.textContent = `${m.data.names[i]} · ${put(count === 1 ? words.passage : words.passages, { number: count.toLocaleString("en-US") })}`;
    m.tip.style.transform = `translate(${clamp(x + 12, 0, m.w - m.tip.offsetWidth)}px, ${clamp(y + 16, 0, m.h - 30)}px)`;
  }
  m.tip.classList.toggle("shown", i >= 0);
  if (i !== m.over) { m.over = i; draw(m); }
}

function pointers(m) {
  const down = new Map();
  let moved = false, apart = 0;
  const spot = (event) => {
    const frame = m.canvas.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  };
  m.canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    down.set(event.pointerId, spot(event));
    moved = down.size > 1;
    apart = 0;
  });
  m.canvas.addEventListener("pointermove", (event) => {
    if (!m.data) return;
    const now = spot(event), last = down.get(event.pointerId);
    if (!last) { hover(m, under(m, now), now); return; }
    if (!moved && Math.hypot(now[0] - last[0], now[1] - last[1]) < 4) return;
    if (!moved) { moved = true; hover(m, -1); m.canvas.setPointerCapture(event.pointerId); }
    down.set(event.pointerId, now);
    if (down.size === 2) {
      const [a, b] = [...down.values()], far = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (apart) zoom(m, far / apart, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      apart = far;
    } else view(m, m.k, m.x + now[0] - last[0], m.y + now[1] - last[1]);
  });
  for (const name of ["pointerup", "pointercancel"]) m.canvas.addEventListener(name, (event) => { down.delete(event.pointerId); apart = 0; });
  m.canvas.addEventListener("pointerleave", () => !down.size && hover(m, -1));
  m.canvas.addEventListener("click", (event) => {
    if (moved || !m.data) return;
    const i = under(m, spot(event));
    choose(m, i === m.chosen ? -1 : i);
  });
  m.canvas.addEventListener("dblclick", (event) => under(m, spot(event)) < 0 && (m.k > 1 ? home(m) : zoom(m, 3, ...spot(event))));
  m.canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== m.canvas) return; // else the page scrolls
    event.preventDefault();
    zoom(m, Math.exp(-event.deltaY / 300), ...spot(event));
  }, { passive: false });
  m.canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) view(m, m.k, m.x + step[0], m.y + step[1]);
    else if (event.key === "+" || event.key === "=") zoom(m, 1.5);
    else if (event.key === "-") zoom(m, 1 / 1.5);
    else if (event.key === "0") home(m);
    else if (event.key === "Escape" && m.chosen >= 0) choose(m, -1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
