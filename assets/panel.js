// Draws the panels of a page as SVG. Positions are given, so an update only changes color,
// size and width, in place, by node id. Names are shown through textContent, never as markup.
const NS = "http://www.w3.org/2000/svg";
const BOXES = 6, NAMED = 24;
const ROOM = 16000; // square pixels of a panel for each name
const ZOOMED = 1.1; // below it the whole picture is shown
const REST = 350; // ms that a finger rests on a node to take it
const pictures = new WeakMap(), turns = new WeakMap();
// Labels of the picture; `{name}` is filled by `put`.
const words = {
  saturated: "retrieved", wet: "touched, not full", dry: "nothing reached it", ghost: "not retrieved", seed: "seed",
  later: "seed of a further question", only: "retrieved here only", shared: "by others too",
  possible: "possible: not by the names alone", shares: "how far each condition fills it", passage: "passage",
  ribbon: "one of the best paths", panels: "by panel", named: "{name}, {facts}",
  elsewhere: "{name}, not retrieved here", out: "Zoom out", in: "Zoom in", reset: "Reset", all: "Show everything",
  svg: "Download as SVG", png: "Download as PNG", link: "Link", copy: "Copy the link to this view", copied: "Copied",
  find: "Find a node", kinds: "All types", documents: "All documents", type: "Type", document: "Document",
  importance: "Importance", community: "Community", color: "Color", others: "others", found: "{number} found",
  hit: "{number} of {all}: {name}", view: "View", only_full: "Retrieved only", moving: "Moving flow",
  folded: "+{number} touched", filtered: "{number} hidden by the filter", more: "Hidden labels: {number}",
  hint: "click selects · drag pans · ctrl + wheel zooms · double click resets",
  touch: "a tap selects · drag pans · hold and drag moves a node · two fingers zoom · double tap resets",
};
const put = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);

export default function ({ data, parentElement, setStateValue }) {
  const turn = (turns.get(parentElement) ?? 0) + 1;
  turns.set(parentElement, turn);
  // The latest data is drawn, even if it is unpacked first; nothing is drawn on a closed page.
  Promise.all([unpack(data), styled(parentElement)]).then(([value]) => turns.get(parentElement) === turn && parentElement.isConnected && show(value, parentElement, setStateValue));
}

const unpack = (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text()
  .then((text) => JSON.parse(text, (_, value) => (value?.columns ? records(value.columns) : value)));

// Long lists come as columns; null is a field that a record has not.
const records = (columns) => {
  const fields = Object.entries(columns);
  return fields[0][1].map((_, at) => Object.fromEntries(
    fields.map(([name, values]) => [name, values[at]]).filter(([, value]) => value !== null)));
};

// The style comes by its own address; an unstyled page must not be measured.
const styled = (element) => {
  const link = element.getRootNode().querySelector("link[rel=stylesheet]");
  return link && !link.sheet && new Promise((done) => ["load", "error"].forEach((kind) => link.addEventListener(kind, done)));
};

export function show(data, parentElement, setStateValue) {
  let picture = pictures.get(parentElement);
  const made = !picture || !picture.root.isConnected;
  if (made) {
    picture = create(parentElement.querySelector(".panel"));
    pictures.set(parentElement, picture);
  }
  picture.send = (id) => setStateValue("selected", id);
  update(picture, data);
  if (picture.anew) fit(picture);
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
  parent?.append(el);
  return set(el, attributes);
};
const set = (el, attributes) => {
  const old = (el.set ??= {});
  for (const name in attributes) {
    const value = String(attributes[name]);
    if (old[name] !== value) el.setAttribute(name, (old[name] = value));
  }
  return el;
};
const say = (el, text) => { if (el.textContent !== text) el.textContent = text; };
// Passages of a document differ by the ends of their names: a number, as in "Handbook, page 3, part 2",
// is kept, and a heading, as in "¶ Handbook · Safety at sea", is shown without the title.
const short = (text, length) => {
  if ([...text].length <= length) return text;
  const told = text.replace(/^(¶ ).* · /, "$1"), all = [...told];
  const end = /, ([^,]{0,10}\d)$/.exec(told)?.[1] ?? "";
  return all.length > length ? all.slice(0, length - 1 - end.length).join("").trimEnd() + "…" + end : told;
};
const clamp = (value, low, high) => Math.max(low, Math.min(Math.max(low, high), value));

function create(root) {
  const p = { root, cards: [], k: 1, panX: 0, panY: 0, widths: new Map(), selected: null,
    look: kept(), placed: new Map() };
  p.above = html("div", "above", root);
  p.grid = html("div", "grid", root);
  p.legend = html("div", "legend", root);
  p.tip = html("div", "tip", root);
  p.tip.setAttribute("role", "tooltip");
  p.pen = document.createElement("canvas").getContext("2d");
  p.keys = html("div", "keys");
  p.tools = html("div", "tools");
  toolbar(p);
  p.legend.append(p.keys);
  // Widths are read here only: reading them while drawing would lay the page out twice.
  p.width = p.grid.clientWidth;
  new ResizeObserver(() => {
    if (p.grid.clientWidth === p.width) return;
    p.width = p.grid.clientWidth;
    p.homes = null;
    if (p.data) draw(p);
  }).observe(p.grid);
  document.fonts.ready.then(() => { p.widths.clear(); p.homes = null; if (p.data) draw(p); });
  // While the mass moves, mass.js draws: the server's answer is later and more complete.
  p.follow = ({ detail }) => {
    if (!root.isConnected) return document.removeEventListener("qafd-mass", p.follow);
    p.live = detail;
    if (p.data && detail?.question === p.data.question) paint(p);
  };
  document.addEventListener("qafd-mass", p.follow);
  link(p);
  // Invisible pictures do not move; in a hidden tab the browser itself stops.
  new IntersectionObserver(([seen]) => root.classList.toggle("away", !seen.isIntersecting)).observe(root);
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { hover(p, null); select(p, null); }
    if (event.key !== "/" || event.target.matches("input, select")) return;
    p.find.focus();
    event.preventDefault();
    event.stopPropagation();
  });
  return p;
}

// The view of the picture is in the address, so that a link shows the same.
const LOOKS = { color: "importance", kind: "", document: "", only: false };

function kept() {
  const found = new URLSearchParams(new URLSearchParams(location.search).get("look") ?? "");
  const look = { ...LOOKS, sought: "", moving: moves() };
  for (const name in LOOKS) if (found.has(name)) look[name] = name === "only" || found.get(name);
  return look;
}

function keep(p) {
  const { look } = p;
  if (!location.protocol.startsWith("http")) return;
  const url = new URL(location), changed = Object.keys(LOOKS).filter((name) => look[name] !== LOOKS[name]);
  if (changed.length) url.searchParams.set("look", new URLSearchParams(changed.map((name) => [name, look[name]])));
  else url.searchParams.delete("look");
  if (url.href === location.href) return;
  history.replaceState(history.state, "", url);
}

const CALM = matchMedia("(prefers-reduced-motion: reduce)");
const moves = () => !CALM.matches && stored("qafd-flow") !== "off";
const stored = (name, value) => {
  // A page from a file may have no storage.
  try { return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value); } catch { return null; }
};

// ---- toolbar: search, zoom, and a menu for everything else

function button(parent, text, title, act, name = "") {
  const el = html("button", name, parent, text);
  el.type = "button";
  el.title = title;
  el.setAttribute("aria-label", title);
  el.onclick = act;
  return el;
}

function toolbar(p) {
  const search = html("span", "search", p.tools);
  p.find = html("input", "find", search);
  p.find.type = "search";
  p.find.placeholder = words.find;
  p.find.setAttribute("aria-label", words.find);
  p.found = html("span", "count", search);
  p.found.setAttribute("role", "status");
  p.find.oninput = () => { p.look.sought = p.find.value; p.hit = -1; seek(p); };
  p.find.onkeydown = (event) => sought(p, event);

  button(p.tools, "−", words.out, () => zoom(p, 1 / 1.4));
  button(p.tools, "+", words.in, () => zoom(p, 1.4));
  button(p.tools, words.reset, words.all, () => { p.placed.clear(); p.homes = null; reset(p); });
  p.opener = button(p.tools, words.view, words.view, () => open(p, p.menu.hidden), "opener");
  p.opener.setAttribute("aria-expanded", "false");
  p.menu = html("div", "menu", p.tools);
  p.menu.hidden = true;
  p.menu.setAttribute("role", "group");
  p.menu.setAttribute("aria-label", words.view);
  p.tools.addEventListener("focusout", ({ relatedTarget: to }) => {
    if (to && !p.menu.contains(to) && to !== p.opener) open(p, false);
  });
  p.tools.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || p.menu.hidden) return;
    open(p, false);
    p.opener.focus();
    event.stopPropagation();
  });
  p.root.addEventListener("pointerdown", (event) => p.tools.contains(event.target) || open(p, false));
}

function open(p, wanted) {
  p.menu.hidden = !wanted;
  p.opener.setAttribute("aria-expanded", String(wanted));
}

// The menu depends on the picture: one type or one document is no choice.
function menu(p) {
  const kinds = [...new Set(p.data.nodes.map((n) => n.kind))].sort(), groups = p.data.groups ?? {};
  const documents = groups.document ?? [];
  const offer = JSON.stringify([kinds, groups, p.data.panels.length]);
  if (p.offer === offer) return;
  p.offer = offer;
  if (!kinds.includes(p.look.kind)) p.look.kind = "";
  if (!documents.includes(p.look.document)) p.look.document = "";
  if (!groups[p.look.color]) p.look.color = "importance";
  p.menu.replaceChildren();
  const row = (text) => {
    const el = html("label", "choice", p.menu);
    html("span", "", el, text);
    return el;
  };
  const change = (name, value) => { p.look[name] = value; keep(p); paint(p); };
  const list = (name, text, options) => {
    const el = html("select", "", row(text));
    el.setAttribute("aria-label", text);
    for (const [value, shown] of options) {
      const option = html("option", "", el, shown);
      option.value = value;
    }
    el.value = p.look[name];
    el.onchange = () => change(name, el.value);
  };
  const check = (text, on, act) => {
    const label = html("label", "check", p.menu), el = html("input", "", label);
    el.type = "checkbox";
    el.checked = on;
    el.onchange = () => act(el.checked);
    html("span", "", label, text);
    return el;
  };
  const colors = ["importance", "document", "community"].filter((name) => name === "importance" || groups[name]?.length > 1);
  if (colors.length > 1) list("color", words.color, colors.map((name) => [name, words[name]]));
  if (kinds.length > 1) list("kind", words.type, [["", words.kinds], ...kinds.map((kind) => [kind, kind])]);
  if (documents.length > 1) list("document", words.document, [["", words.documents], ...documents.map((name) => [name, short(name, 48)])]);
  check(words.only_full, p.look.only, (on) => { change("only", on); on ? fit(p) : reset(p); });
  if (flows(p)) check(words.moving, p.look.moving, (on) => {
    p.look.moving = on;
    if (!CALM.matches) stored("qafd-flow", on ? "on" : "off");
    draw(p);
  });
  const files = html("div", "files", p.menu);
  button(files, "SVG", words.svg, () => download(p, false));
  button(files, "PNG", words.png, () => download(p, true));
  if (location.protocol.startsWith("http")) button(files, words.link, words.copy, copied, "Link");
  html("div", "hint", p.menu, matchMedia("(pointer: coarse)").matches ? words.touch : words.hint);
}

// The same data in another view.
function paint(p) {
  const live = moving(p);
  p.moves = !!live;
  p.root.classList.toggle("moving", p.moves);
  p.cards.forEach((c, i) => fill(p, c, live ?? p.data.panels[i]));
  legend(p);
  draw(p);
  seek(p);
}

// The panel of a mass that the server has not answered for; null when it has.
function moving(p) {
  const { live, data, cards } = p;
  if (cards.length !== 1 || !live || live.question !== data.question || live.mass === data.mass) return null;
  const at = new Map(data.nodes.map((n, i) => [n.id, i]));
  const place = (id) => {
    if (!at.has(id)) {
      at.set(id, data.nodes.length);
      p.homes = null;
      data.nodes.push({ ...live.places.find((n) => n?.id === id), late: 1, documents: [] });
    }
    return at.get(id);
  };
  const nodes = live.panel.nodes.map((n) => ({ ...n, n: place(n.id) }));
  const edges = live.panel.edges.map((e) => ({ ...e, u: place(e.from), v: place(e.to) }));
  return { ...data.panels[0], ...live.panel, nodes, edges, shapes: [] };
}

const hides = ({ look }, n) => look.only && n.state !== "saturated" && !n.seed
  || look.kind && n.kind !== look.kind
  || look.document && !(n.documents ?? []).includes(look.document);

// Zooms to the drawn nodes, at their places.
function fit(p) {
  const c = p.cards[0], left = p.cards.flatMap(({ order }) => order.filter((n) => n.state !== "ghost" && p.homes?.has(n.id)));
  if (left.length < 2) return;
  const xs = left.map((n) => p.homes.get(n.id).x / c.w), ys = left.map((n) => p.homes.get(n.id).y / c.h);
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const k = clamp(0.8 / Math.max(x1 - x0, y1 - y0, 0.1), 1, 3);
  if (k > ZOOMED) view(p, k, (x0 + x1) / 2 - 0.5, (y0 + y1) / 2 - 0.5);
  else if (p.k > 1) reset(p);
}

const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

// Marks the nodes that the search finds, in every panel.
function seek(p) {
  const wanted = plain(p.look.sought.trim());
  const hits = (n) => wanted && plain(n.name).includes(wanted);
  p.hits = [];
  for (const c of p.cards) {
    c.svg.classList.toggle("seeking", !!wanted);
    for (const n of c.order) {
      n.el.classList.toggle("found", !!hits(n));
      if (hits(n) && !p.hits.some((other) => other.id === n.id)) p.hits.push({ id: n.id, c, name: n.name });
    }
  }
  say(p.found, wanted ? put(words.found, { number: p.hits.length }) : "");
}

function sought(p, event) {
  if (event.key === "Escape") {
    p.find.value = p.look.sought = "";
    hover(p, null);
    seek(p);
    p.find.blur();
  } else if (event.key === "Enter" && p.hits?.length) {
    p.hit = (p.hit + (event.shiftKey ? -1 : 1) + p.hits.length) % p.hits.length;
    const { id, c, name } = p.hits[p.hit];
    center(p, c, id);
    say(p.found, put(words.hit, { number: p.hit + 1, all: p.hits.length, name }));
  } else if (event.key === "ArrowDown" && p.hits?.length) {
    const { id, c } = p.hits[Math.max(p.hit, 0)];
    c.nodes.get(id).shape.focus();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

function center(p, c, id) {
  const home = p.homes.get(id);
  view(p, Math.max(p.k, 1.8), home.x / c.w - 0.5, home.y / c.h - 0.5);
  draw(p);
  hover(p, id, c);
}

async function copied({ currentTarget: button }) {
  // Pages that are not from this machine have no clipboard without TLS.
  if (!navigator.clipboard) { prompt(words.copy, location.href); return; }
  await navigator.clipboard.writeText(location.href);
  say(button, words.copied);
  setTimeout(() => say(button, words.link), 1500);
}

// ---- data -> elements

function update(p, data) {
  const start = performance.now();
  p.data = data;
  const style = getComputedStyle(p.root);
  const [r, g, b] = style.caretColor.match(/[\d.]+/g).map(Number);
  p.theme = luminance([r, g, b]) < 0.35 ? "dark" : "light";
  p.root.dataset.theme = p.theme;
  if (data.told && p.selected !== data.selected) p.send(p.selected = p.asked = data.selected);
  p.anew = p.question !== data.question;
  if (p.anew && p.question !== undefined) {
    p.placed.clear();
    Object.assign(p.look, { kind: "", document: "", sought: (p.find.value = "") });
    p.offer = null;
    keep(p);
  }
  p.question = data.question;
  p.root.classList.toggle("lone", data.lone);
  p.root.classList.toggle("unsure", !!data.unsure);
  p.root.classList.toggle("lines", !!data.edges);
  p.stops = data.ramp[p.theme].map(parse);
  p.ink = data.signed ? [140, 140, 140] : p.stops[3];
  p.font = style.fontFamily;
  if (data.selected !== p.told || data.selected === p.asked) {
    // A rerun that began before the last click must not undo its mark.
    if (p.asked === undefined || data.selected === p.asked) {
      p.selected = data.selected;
      p.asked = undefined;
    }
    p.told = data.selected;
  }
  while (p.cards.length < data.panels.length) p.cards.push(card(p));
  while (p.cards.length > data.panels.length) p.cards.pop().el.remove();
  for (const n of data.nodes) n.documents = (n.d ?? []).map((i) => data.groups.document[i]);
  menu(p);
  p.homes = null;
  paint(p);
  if (p.over) hover(p, p.over.id, p.over.card);
  performance.clearMeasures("qafd-panels");
  performance.measure("qafd-panels", { start });
  requestAnimationFrame(() => {
    p.root.dataset.painted = data.run ?? 0;
    p.root.classList.add("ready");
  });
}

function card(p) {
  const el = html("section", "card", p.grid);
  const head = html("div", "head", el);
  const c = { el, head, title: html("span", "title", head), subtitle: html("span", "subtitle", head),
    nodes: new Map(), edges: new Map() };
  c.svg = svg("svg", el, { role: "graphics-document", "aria-roledescription": "graph" });
  c.shapeLayer = svg("g", c.svg);
  c.edgeLayer = svg("g", c.svg);
  c.flowLayer = svg("g", c.svg, { "aria-hidden": true });
  c.wordLayer = svg("g", c.svg, { class: "words", "aria-hidden": true });
  c.ghostLayer = svg("g", c.svg);
  c.nodeLayer = svg("g", c.svg);
  c.seedLayer = svg("g", c.svg);
  const foot = html("div", "footer", el);
  c.footer = html("span", "", foot);
  c.folded = html("span", "folded", foot);
  c.more = html("span", "more", foot);
  pointers(p, c);
  return c;
}

function fill(p, c, panel) {
  const { nodes } = p.data;
  c.panel = panel;
  say(c.title, panel.title);
  // Communities differ by their colors, named next to the title.
  const communities = (panel.shapes ?? []).map((shape, i) => ({ ...shape, i })).filter(({ shape }) => shape === "hull");
  if (communities.length) {
    c.subtitle.replaceChildren();
    for (const { title, i } of communities) html("span", `chip hue${i % 6}`, c.subtitle, short(title, 22));
  } else say(c.subtitle, panel.subtitle);
  c.subtitle.title = panel.subtitle;
  say(c.footer, panel.footer);
  set(c.svg, { "aria-label": panel.alt });
  const crowd = clamp(Math.sqrt(110 / (p.data.crowd?.[1] ?? panel.edges.length)), 0.5, 1);
  c.near = new Map();
  // Many boxes would hide each other: the other seeds are circles with their thick outline.
  const all = p.data.boxes;
  const boxes = new Set(panel.nodes.filter((n) => n.seed && (!all || all.includes(nodes[n.n].id))).slice(0, BOXES));
  const fresh = new Set();
  panel.nodes.forEach((shown, rank) => {
    const base = nodes[shown.n];
    const n = take(c.nodes, base.id, () => node(base.id));
    fresh.add(base.id);
    Object.assign(n, { possible: 0, later: 0, shares: null }, shown, base, { rank, index: shown.n, wants: boxes.has(shown) });
    const layer = n.seed ? c.seedLayer : c.nodeLayer;
    if (n.el.parentNode !== layer) layer.append(n.el);
    const fill = n.state === "saturated" && (n.only || !p.data.lone) ? tint(p, n) : "";
    n.shape.style.fill = fill && css(fill);
    n.inside = fill && (luminance(fill) > 0.179 ? "#000" : "#fff"); // 4.5:1 at least
    const facts = [n.kind, n.seed && (n.later ? words.later : words.seed), n.only ? words.only : says(n), n.facts[0].join(" ")];
    style(n, put(words.named, { name: n.name, facts: facts.filter(Boolean).join(", ") }));
  });
  nodes.forEach((base) => {
    if (fresh.has(base.id)) return;
    const n = take(c.nodes, base.id, () => node(base.id));
    fresh.add(base.id);
    Object.assign(n, base, { state: "ghost", seed: false, wants: false, box: false, only: false, possible: false, shares: null, t: 0, rank: 1e6, side: undefined });
    if (n.el.parentNode !== c.ghostLayer) c.ghostLayer.append(n.el);
    n.shape.style.fill = n.text.style.fill = "";
    style(n, put(words.elsewhere, { name: n.name }));
  });
  drop(c.nodes, fresh);
  const hidden = new Set([...c.nodes.values()].filter((n) => hides(p, n)));
  for (const n of c.nodes.values()) n.el.classList.toggle("gone", hidden.has(n));
  c.order = [...c.nodes.values()].filter((n) => !hidden.has(n)).sort((a, b) => a.rank - b.rank);
  const folded = [...hidden].filter((n) => n.state !== "ghost").length;
  say(c.folded, folded ? put(p.look.kind || p.look.document ? words.filtered : words.folded, { number: folded }) : "");
  const lines = new Set();
  for (const shown of panel.edges) {
    const u = c.nodes.get(nodes[shown.u].id), v = c.nodes.get(nodes[shown.v].id);
    const key = JSON.stringify(u.id < v.id ? [u.id, v.id] : [v.id, u.id]);
    lines.add(key);
    const e = take(c.edges, key, () => ({ el: svg("path", c.edgeLayer) }));
    Object.assign(e, shown, { u, v, crowd });
    e.el.edge = e;
    e.gone = hidden.has(u) || hidden.has(v);
    set(e.el, { "data-edge": `${u.id}|${v.id}`, class: `edge${shown.arrow ? " flow" : ""}${e.gone ? " gone" : ""}` });
    if (e.gone) continue;
    const tint = shown.arrow ? css(p.ink) : "";
    if (e.el.style.fill !== tint) e.el.style.fill = tint;
    // Edges to touched nodes are behind those to retrieved ones.
    const back = u.state === "wet" || v.state === "wet" ? 0.55 : 1;
    e.el.style.fillOpacity = shown.arrow ? (back * crowd * (0.35 + 0.4 * shown.w)).toFixed(2) : "";
    for (const [a, b] of [[u, v], [v, u]]) {
      if (!c.near.has(a.id)) c.near.set(a.id, []);
      c.near.get(a.id).push([b, e]);
    }
  }
  drop(c.edges, lines);
}

const take = (map, key, make) => {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
};
const drop = (map, keep) => {
  for (const [key, item] of map) if (!keep.has(key)) { item.el.remove(); map.delete(key); }
};

function node(id) {
  const el = svg("g"), n = { el, ring: svg("rect", el, { class: "ring" }),
    lead: svg("path", el, { class: "lead" }), bars: svg("path", el, { class: "bars" }),
    shape: svg("rect", el, { "data-node": id, role: "button" }), text: svg("text", el) };
  return (el.node = n);
}

function style(n, words) {
  set(n.el, { class: `node ${n.state}${n.seed ? " seed" : ""}${n.square ? " passage" : ""}${n.only ? " only" : ""}${n.possible ? " possible" : ""}${n.later ? " later" : ""}` });
  set(n.shape, { class: "shape", "data-state": n.state, "aria-label": words });
}

// ---- colors

const css = (c) => `rgb(${c.map(Math.round).join(",")})`;
const luminance = ([r, g, b]) => {
  const line = (v) => (v / 255 <= 0.04 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * line(r) + 0.7152 * line(g) + 0.0722 * line(b);
};
const color = (p, t) => {
  const at = clamp(t, 0, 1) * (p.stops.length - 1), i = Math.min(Math.floor(at), p.stops.length - 2);
  return p.stops[i].map((v, j) => v + (at - i) * (p.stops[i + 1][j] - v));
};

// By importance, or by the document or community of a node; eight of these and the others.
const GROUPS = {
  light: ["#332288", "#44aa99", "#cc6677", "#ddcc77", "#117733", "#88ccee", "#aa4499", "#999933"],
  dark: ["#77aadd", "#ee8866", "#44bb99", "#eedd88", "#ffaabb", "#bbcc33", "#99ddff", "#aaaa00"],
};
const OTHERS = { light: "#b0b0b0", dark: "#70757c" };
const parse = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
const group = (p, n) => (p.look.color === "document" ? n.d?.[0] : n.c) ?? -1;
const hue = (p, at) => parse(GROUPS[p.theme][at] ?? OTHERS[p.theme]);
const tint = (p, n) => (p.look.color === "importance" ? color(p, n.t) : hue(p, group(p, n)));

// ---- geometry

const says = (n) => words[n.state];
const thick = (p, e) => e.w ? 1.2 + (e.arrow ? 6.8 : 4.8) * e.w * p.size * (e.crowd ?? 1) : 1;
const width = (p, text, bold) => {
  const key = (bold ? "b" : "") + text;
  return take(p.widths, key, () => {
    p.pen.font = `${bold ? 600 : 500} 12px ${p.font}`;
    return p.pen.measureText(text).width;
  });
};

function draw(p) {
  // In a hidden tab, or while another page takes over, there is no width to draw in.
  if (!p.width) return;
  const count = p.cards.length, fit = Math.max(1, Math.floor((p.width + 14) / 354));
  const columns = Math.min(count || 1, fit, count === 3 && fit > 2 ? 3 : 2);
  p.grid.style.setProperty("--columns", columns);
  const home = p.width < 480 || !count || count > 2 ? p.above : p.cards[columns - 1].head;
  if (p.tools.parentNode !== home) home.append(p.tools);
  p.root.classList.toggle("moved", p.k > 1);
  for (const c of p.cards) {
    c.w = Math.floor((p.width - 14 * (columns - 1)) / columns) - 2;
    // Four panels fit on a notebook's screen.
    c.h = count > 2 && columns > 1 ? clamp(Math.round(0.41 * c.w), 190, 420) : clamp(Math.round(0.7 * c.w), 320, 600);
    set(c.svg, { width: c.w, height: c.h, viewBox: `0 0 ${c.w} ${c.h}` });
    const room = Math.sqrt(c.w * c.h / Math.max(p.data.crowd?.[0] ?? p.data.nodes.length, 1));
    p.size = clamp(room / 80, 0.55, 1.2) * Math.min(Math.sqrt(p.k), 1.6);
    const home = homes(p, c.w, c.h);
    unfold(c, home);
    for (const n of c.nodes.values()) arrange(p, c, n, home.get(n.id));
    // Mass always runs towards nodes that are not full: arrowheads there would only fill the picture.
    for (const e of c.edges.values()) e.gone || set(e.el, { d: arrow(e.u, e.v, thick(p, e), e.arrow && e.v.state !== "wet") });
    shapes(c);
    stream(p, c);
    label(p, c);
  }
  mark(p);
}

// ---- flow: dots along the arrows, the faster the more mass they carry

const PERIOD = 13, STREAMS = 120;
const flows = (p) => p.cards.length === 1 && p.data.panels[0].edges.some((e) => e.arrow);

function stream(p, c) {
  c.flowLayer.replaceChildren();
  if (!p.look.moving || !flows(p) || p.moves) return;
  const lines = [...c.edges.values()].filter((e) => e.arrow && !e.gone).sort((a, b) => b.w - a.w);
  for (const e of lines.slice(0, STREAMS)) {
    const dx = e.v.px - e.u.px, dy = e.v.py - e.u.py, length = Math.hypot(dx, dy) || 1, width = thick(p, e);
    const start = leave(e.u, dx / length, dy / length) / length, end = 1 - (leave(e.v, dx / length, dy / length) + 7 + 1.5 * width) / length;
    if (end - start < PERIOD / length) continue;
    const at = (share) => `${(e.u.px + share * dx).toFixed(1)} ${(e.u.py + share * dy).toFixed(1)}`;
    const line = svg("path", c.flowLayer, { class: "dots", d: `M${at(start)}L${at(end)}`, "stroke-dasharray": `0 ${PERIOD}` });
    line.style.strokeWidth = clamp(0.55 * width, 1.3, 3.4);
    // All start and step together, so that the picture is painted only a few times a second.
    line.style.setProperty("--far", -PERIOD * (1 + Math.round(4 * e.w)));
    line.edge = e;
  }
}

// ---- shapes of a method: hulls around communities, rings of hops, ribbons along paths

function shapes(c) {
  c.shapeLayer.replaceChildren();
  c.marks = [];
  (c.panel.shapes ?? []).forEach(({ shape, n, title }, i) => {
    const spots = n.map((at) => [...c.nodes.values()].find((node) => node.index === at)).filter(Boolean);
    const points = shape === "ribbon" ? spots.map((s) => [s.px, s.py]) : hull(spots.map((s) => [s.px, s.py]));
    if (!points.length) return;
    const d = `M${points.map((at) => at.map((v) => v.toFixed(1)).join(" ")).join("L")}${shape === "ribbon" ? "" : "Z"}`;
    const g = svg("g", c.shapeLayer, { class: `${shape} hue${i % 6}` });
    say(svg("title", g), title);
    svg("path", g, { d });
    if (shape === "ring") svg("path", g, { d, class: "inner" });
    if (shape !== "ring") return;
    const at = beside(c, points);
    if (!at) return;
    say(svg("text", g, { x: (at.x0 + at.x1) / 2, y: at.y1 - 4 }), title);
    c.marks.push(at);
  });
}

// The place of a ring's word: outside of a corner, the topmost first, where no node would hide it.
function beside(c, corners) {
  const taken = [...c.order.filter((n) => n.state !== "ghost").map(extent), ...c.marks];
  for (const [px, y] of [...corners].sort((a, b) => a[1] - b[1])) {
    const x = clamp(px, 26, c.w - 26);
    for (const y1 of [y - 17, y + 33]) {
      const at = { x0: x - 22, x1: x + 22, y0: y1 - 15, y1 };
      if (at.y0 >= 0 && at.y1 <= c.h && !taken.some((other) => meets(at, other))) return at;
    }
  }
  return null;
}

// The convex hull, counterclockwise (Andrew's monotone chain).
function hull(points) {
  const sorted = points.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (some) => some.reduce((chain, at) => {
    while (chain.length > 1) {
      const [[x, y], [X, Y]] = chain.slice(-2);
      if ((X - x) * (at[1] - y) - (Y - y) * (at[0] - x) > 0) break;
      chain.pop();
    }
    return [...chain, at];
  }, []);
  return [...half(sorted).slice(0, -1), ...half(sorted.toReversed()).slice(0, -1)];
}

const boxed = (name, w) => short(name, w < 480 ? 16 : 24);

// Places of nodes at rest, in pixels. Boxes and all nodes of the layout, shown or not, give
// way to each other, so that no slider but that of the seeds moves anything; nodes that were
// added to the layout later move alone.
function homes(p, w, h) {
  if (p.homes) return p.homes;
  const seeds = new Set(p.data.boxes ?? p.cards.flatMap((c) => c.order.filter((n) => n.wants).map((n) => n.id)));
  const spots = p.data.nodes.map(({ id, name, x, y, late = 0 }) => {
    const [a, b] = seeds.has(id) ? [width(p, boxed(name, w), true) / 2 + 11, 14] : [8, 8];
    return { id, x: 14 + x * (w - 28), y: 12 + y * (h - 24), a, b, late };
  });
  const moving = new Set(spots.filter((s) => seeds.has(s.id)));
  const keep = (s) => {
    s.x = clamp(s.x, s.a + 6, w - s.a - 6);
    s.y = clamp(s.y, s.b + 6, h - s.b - 6);
  };
  spots.forEach(keep);
  for (let round = 0; round < 40; round++)
    for (const s of moving)
      for (const o of spots) {
        const dx = s.x - o.x, dy = s.y - o.y, ox = s.a + o.a + 3 - Math.abs(dx), oy = s.b + o.b + 3 - Math.abs(dy);
        // The place of a later node shall not depend on other later ones.
        if (s === o || s.late && o.late || ox <= 0 || oy <= 0) continue;
        const [axis, by] = ox < oy ? ["x", dx < 0 ? -ox : ox] : ["y", dy < 0 ? -oy : oy];
        const share = 0.3 * (1 + s.late - o.late);
        s[axis] += share * by;
        o[axis] -= (0.6 - share) * by;
        keep(s);
        keep(o);
        if (!s.late) moving.add(o);
      }
  p.homes = new Map(spots.map((s) => [s.id, s]));
  for (const [id, [x, y]] of p.placed) if (p.homes.has(id)) Object.assign(p.homes.get(id), { x: x * w, y: y * h });
  return p.homes;
}

// Seeds are boxes with their name inside, unless that would hide the box of a more important one.
function unfold(c, home) {
  const kept = [];
  for (const n of c.order) {
    const s = home.get(n.id);
    n.box = n.wants && !kept.some((o) => Math.abs(s.x - o.x) < s.a + o.a && Math.abs(s.y - o.y) < s.b + o.b);
    if (n.box) kept.push(s);
    n.el.classList.toggle("box", n.box);
    n.text.style.fill = n.box ? n.inside : "";
  }
}

function arrange(p, c, n, home) {
  const square = n.square;
  if (n.box) {
    n.words = boxed(n.name, c.w);
    n.half = [width(p, n.words, true) / 2 + 9, 12];
  } else {
    const r = n.state === "saturated" ? 6.5 + 5.5 * n.t : { wet: 4.5, dry: 4 }[n.state] ?? 2.6;
    const half = n.state === "ghost" ? r : r * p.size * (square ? 0.8 : 1);
    n.words = short(n.name, square ? 22 : 28);
    n.half = [half, half];
  }
  const [a, b] = n.half, round = n.seed ? 5 : square ? 1.5 : a;
  n.px = (home.x / c.w - 0.5 - p.panX) * p.k * c.w + c.w / 2;
  n.py = (home.y / c.h - 0.5 - p.panY) * p.k * c.h + c.h / 2;
  set(n.el, { transform: `translate(${n.px.toFixed(1)} ${n.py.toFixed(1)})` });
  box(n.shape, a, b, round);
  box(n.ring, a + 4, b + 4, round + 4);
  // A bar for each condition, as high as the share of the node's capacity that it fills.
  set(n.bars, { d: (n.shares ?? []).map((share, i) => `M${(a + 5 + 5 * i).toFixed(1)} 8V${(8 - 18 * share).toFixed(1)}`).join("") });
}

const box = (el, a, b, round) => set(el, { x: -a, y: -b, width: 2 * a, height: 2 * b, rx: round });

// Where the ray from a node toward (dx, dy) leaves its shape.
const leave = (n, dx, dy) => n.box || n.square
  ? Math.min(n.half[0] / Math.max(Math.abs(dx), 1e-9), n.half[1] / Math.max(Math.abs(dy), 1e-9))
  : n.half[0];

function arrow(u, v, thickness, head) {
  const length = Math.hypot(v.px - u.px, v.py - u.py) || 1;
  const dx = (v.px - u.px) / length, dy = (v.py - u.py) / length;
  const start = Math.min(leave(u, dx, dy), length), end = Math.max(length - leave(v, dx, dy) - 1.5, start);
  const tip = head ? Math.min(5 + 1.5 * thickness, end - start) : 0, neck = end - tip;
  const half = thickness / 2, wing = head ? 2.4 + thickness : half;
  const at = (along, side) =>
    `${(u.px + along * dx - side * dy).toFixed(1)} ${(u.py + along * dy + side * dx).toFixed(1)}`;
  return `M${at(start, half)}L${at(neck, half)}L${at(neck, wing)}L${at(end, 0)}` +
    `L${at(neck, -wing)}L${at(neck, -half)}L${at(start, -half)}Z`;
}

// ---- labels: the most important first, each on the side that is free and crosses fewest edges

// The last four are shifted by a quarter of the words.
const SIDES = [[0, 1], [0, -1], [1, 0], [-1, 0], [0.8, 0.8], [-0.8, 0.8], [0.8, -0.8], [-0.8, -0.8],
  [0, 1, 0.25], [0, 1, 0.75], [0, -1, 0.25], [0, -1, 0.75]];

function spot(p, n, [sx, sy, part = 0.5], off = 0) {
  const w = width(p, n.words), [a, b] = n.half;
  const left = n.px + sx * (a + 4 + off) - (sx > 0 ? 0 : sx < 0 ? w : w * part);
  const middle = n.py + sy * (b + (sx && sy ? 5 : 9) + off);
  return { x0: left, x1: left + w, y0: middle - 7, y1: middle + 7,
    dx: left + w / 2 - n.px, dy: middle + 4 - n.py, off };
}
const extent = (n) => ({ n, x0: n.px - n.half[0] - 2, x1: n.px + n.half[0] + 2,
  y0: n.py - n.half[1] - 1, y1: n.py + n.half[1] + 1 });
const gap = (r, { px, py, half: [a, b] }) => Math.hypot(Math.max(r.x0 - px - a, 0, px - a - r.x1), Math.max(r.y0 - py - b, 0, py - b - r.y1));
// Two names on a line need a gap wider than that between words.
const meets = (a, b, apart = "dx" in b ? 9 : 0) => a.x0 < b.x1 + apart && b.x0 < a.x1 + apart && a.y0 < b.y1 && b.y0 < a.y1;
const crosses = (r, e) => {
  const { px: x, py: y } = e.u, { px: X, py: Y } = e.v;
  if (Math.max(x, X) < r.x0 || Math.min(x, X) > r.x1 || Math.max(y, Y) < r.y0 || Math.min(y, Y) > r.y1)
    return false;
  const side = (a, b) => Math.sign((X - x) * (b - y) - (Y - y) * (a - x));
  return Math.abs(side(r.x0, r.y0) + side(r.x1, r.y0) + side(r.x0, r.y1) + side(r.x1, r.y1)) < 4;
};

function label(p, c) {
  const taken = [...c.order.filter((n) => n.state !== "ghost").map(extent), ...c.marks], edges = c.edges.size > 160 ? null : [...c.edges.values()].filter((e) => !e.gone);
  const nodes = c.order.filter((n) => n.state !== "ghost");
  const named = new Set(p.data.named ?? []); // names of the answer are always shown
  const rank = (n) => (n.id === p.selected ? -2e5 : named.has(n.id) ? -15e4 : n.only ? -1e5 : { wet: 2e5, dry: 3e5 }[n.state] ?? (n.square ? 1e5 : 0)) + n.rank;
  // Touched nodes are named where those that are retrieved leave room.
  let room = c.w * c.h * p.k ** 2 / ROOM - nodes.filter((n) => n.state === "saturated").length;
  for (const n of [...c.order].sort((a, b) => rank(a) - rank(b))) {
    if (n.box) { n.shown = true; write(n, { dx: 0, dy: 4.2 }); continue; }
    const quiet = n.state === "ghost" || n.state !== "saturated" && --room < 0;
    if (quiet && n.id !== p.selected && !named.has(n.id)) { n.shown = false; write(n, null); continue; }
    const mine = edges ?? (c.near.get(n.id) ?? []).map(([, e]) => e);
    // A full node is named before any touched one: farther off, else shorter; over a node only when selected.
    const tries = [[n.words, 0]], less = short(n.name, 14), picked = n.id === p.selected || named.has(n.id);
    if (picked || n.state === "saturated" && !n.square && n.rank < NAMED)
      tries.push([n.words, 9], [n.words, 18], [n.words, 27], [less, 0], [less, 9], [less, 18], [less, 27], ...(picked ? [[less, 0, 1]] : []));
    let best = null, cost = Infinity;
    for (const [words, off, over] of tries) {
      if (best) break;
      n.words = words;
      SIDES.forEach((side, i) => {
        const at = spot(p, n, side, off);
        if (at.x0 < 2 || at.x1 > c.w - 2 || at.y0 < 4 || at.y1 > c.h - 4) return;
        const hits = taken.filter((other) => other.n !== n && meets(at, other));
        if (hits.some((other) => !over || !other.n || other.n.box || "dx" in other)) return;
        // A name nearer to another node would seem to be that node's.
        if (!picked && nodes.some((other) => other !== n && gap(at, other) < 14 && gap(at, other) < gap(at, n) + 6)) return;
        let now = i * 0.3 - (n.side === i ? 1.2 : 0);
        for (const other of hits) now += other.n.state === "saturated" ? 9 : 4;
        for (const e of mine) if (crosses(at, e)) now += e.arrow ? 0.8 + e.w : 0.6;
        if (now < cost) { cost = now; best = at; best.i = i; }
      });
    }
    n.shown = !!best;
    n.side = best?.i;
    n.at = best;
    write(n, best);
    if (best) taken.push({ ...best, n });
  }
  const nameless = nodes.filter((n) => n.state === "saturated" && !n.shown);
  say(c.more, nameless.length ? put(words.more, { number: nameless.length }) : "");
  c.more.title = nameless.map((n) => n.name).join(", ");
}

// A line joins a distant name to its node.
function lead(n, at) {
  const between = (low, high) => Math.max(low, Math.min(0, high));
  const x = between(at.x0 - n.px, at.x1 - n.px), y = between(at.y0 - n.py, at.y1 - n.py);
  const part = Math.max(n.half[0], n.half[1]) / Math.hypot(x, y);
  return part < 1 ? `M${(x * part).toFixed(1)} ${(y * part).toFixed(1)}L${x.toFixed(1)} ${y.toFixed(1)}` : "";
}

function write(n, at) {
  set(n.lead, { d: at?.off ? lead(n, at) : "" });
  set(n.text, { x: at ? at.dx.toFixed(1) : 0, y: at ? at.dy.toFixed(1) : 0, class: at ? "" : "off" });
  say(n.text, at || n.state !== "ghost" ? n.words : "");
}

// ---- hover, selection, keyboard

const key = (event) => event.target.closest(".node")?.node.id;

// How many times larger than drawn a picture is shown: a projector's page enlarges it.
const enlarged = (c) => c.svg.getBoundingClientRect().width / c.w;

// The target of a finger: browsers move a touch to a neighbor that seems easier to hit, so the
// nearest disc or name is found from its own place.
function touched(c, { clientX, clientY }) {
  const frame = c.svg.getBoundingClientRect(), k = enlarged(c);
  const x = (clientX - frame.left) / k, y = (clientY - frame.top) / k;
  const far = (r) => Math.hypot(Math.max(r.x0 - x, 0, x - r.x1), Math.max(r.y0 - y, 0, y - r.y1));
  let best, least = 12;
  for (const n of c.order) {
    const away = Math.min(far(extent(n)), n.shown && !n.box ? far(n.at) : 99) + (n.state === "ghost" ? 4 : 0);
    if (away < least) { least = away; best = n.id; }
  }
  return best;
}

function hover(p, id, at, event, e) {
  p.over = e || at?.nodes.has(id) && p.cards.includes(at) ? { id, card: at } : null;
  p.tip.classList.toggle("on", !!p.over);
  for (const el of document.querySelectorAll("[data-name]")) el.classList.toggle("lit", !!id && el.dataset.name === id);
  for (const c of p.cards) {
    const on = new Set(), marked = new Set();
    if (p.over && c.nodes.has(id)) {
      on.add(c.nodes.get(id));
      for (const [n, line] of c.near.get(id) ?? []) { on.add(n); marked.add(line); }
    } else if (e) {
      const ends = [e.u.id, e.v.id];
      for (const line of c.edges.values())
        if (ends.includes(line.u.id) && ends.includes(line.v.id)) {
          on.add(line.u).add(line.v);
          marked.add(line);
        }
    }
    c.svg.classList.toggle("dim", !!p.over);
    for (const n of c.nodes.values()) {
      n.el.classList.toggle("on", on.has(n));
      n.el.classList.toggle("hot", n.id === id);
    }
    for (const line of c.edges.values()) line.el.classList.toggle("on", marked.has(line));
    reveal(p, c, on, id ? marked : new Set());
  }
  if (p.over) tip(p, id, at, event, e);
}

// While others are faded, the names of the highlighted nodes and the words of their edges
// may take the room.
function reveal(p, c, on, edges) {
  const taken = [];
  for (const n of c.nodes.values()) {
    if (!on.has(n)) { if (!n.shown && n.lent) { write(n, null); n.lent = false; } continue; }
    taken.push(extent(n));
    if (n.shown && !n.box) taken.push({ ...n.at, n });
  }
  for (const n of on) {
    if (n.shown) continue;
    const free = SIDES.map((side) => spot(p, n, side)).filter((at) => at.x0 > 0 && at.x1 < c.w && at.y0 > 0 && at.y1 < c.h);
    const at = free.find((f) => !taken.some((o) => o.n !== n && meets(f, o))) ?? (n.id === p.over.id ? free[0] : null);
    if (!at) continue;
    n.lent = true;
    write(n, at);
    n.text.textContent = n.words;
    taken.push({ ...at, n });
  }
  c.wordLayer.replaceChildren();
  for (const e of edges) {
    if (!e.label || c.wordLayer.childElementCount > 11) continue;
    const text = short(e.label, 24), w = width(p, text), x = (e.u.px + e.v.px) / 2, y = (e.u.py + e.v.py) / 2;
    const at = { x0: x - w / 2, x1: x + w / 2, y0: y - 7, y1: y + 7 };
    if (taken.some((o) => meets(at, o))) continue;
    taken.push(at);
    say(svg("text", c.wordLayer, { x, y: y + 4 }), text);
  }
}

function tip(p, id, at, event, e) {
  p.tip.replaceChildren();
  const row = (name, value) => {
    const line = html("div", "row", p.tip);
    html("span", "", line, name);
    html("b", "", line, value);
  };
  const n = id && at.nodes.get(id);
  if (!n && !e) return;
  if (e) {
    html("div", "name", p.tip, `${e.u.name} ${e.arrow ? "→" : "–"} ${e.v.name}`);
    if (e.label) html("div", "kind", p.tip, e.label);
    e.facts.forEach(([name, value]) => row(name, value));
  } else {
    html("div", "name", p.tip, n.name);
    html("div", "kind", p.tip, [n.kind, n.seed && (n.later ? words.later : words.seed), says(n), n.possible && words.possible]
      .filter(Boolean).join(" · "));
    if (n.state !== "ghost") n.facts.forEach(([name, value]) => row(name, value));
    if (p.cards.length > 1) {
      const all = html("div", "others", p.tip);
      html("div", "kind", all, words.panels);
      for (const c of p.cards) {
        const there = c.nodes.get(id), line = html("div", "row", all);
        html("span", "", line, c.panel.title);
        html("b", "", line, there.state === "ghost" ? "–" : there.facts[0][1]);
      }
    }
    if (n.state !== "ghost" && n.reason) html("div", "reason", p.tip, n.reason);
  }
  const frame = p.root.getBoundingClientRect(), here = at.svg.getBoundingClientRect(), k = enlarged(at);
  const left = (here.left - frame.left) / k, top = (here.top - frame.top) / k;
  const x = e ? (event.clientX - frame.left) / k : left + n.px, y = e ? (event.clientY - frame.top) / k : top + n.py;
  const [a, b] = e ? [12, 12] : [n.half[0] + 14, n.half[1] + 22], w = p.tip.offsetWidth, h = p.tip.offsetHeight;
  // Next to the node, where it covers the fewest highlighted nodes.
  const friends = e ? [e.u, e.v] : [n, ...(at.near.get(id) ?? []).map(([other]) => other)];
  let least = Infinity;
  for (const [tx, ty] of [[x + a, y - h / 3], [x - a - w, y - h / 3], [x - w / 2, y + b], [x - w / 2, y - b - h]]) {
    const x0 = clamp(tx, 4, frame.width / k - w - 4), y0 = clamp(ty, 4, frame.height / k - h - 4);
    const over = { x0: x0 - left, x1: x0 - left + w, y0: y0 - top, y1: y0 - top + h };
    const cost = friends.reduce((sum, f) => sum + meets(over, extent(f)) * (f === n ? 9 : 1), 0);
    if (cost >= least) continue;
    least = cost;
    p.tip.style.left = `${x0}px`;
    p.tip.style.top = `${y0}px`;
  }
}

// Names in the answer point to their nodes, and nodes to their names.
function link(p) {
  const name = (event) => event.target.closest?.("[data-name]")?.dataset.name;
  const point = (event) => {
    if (!p.root.isConnected) return forget();
    const id = name(event), at = p.cards.find((c) => id && c.nodes.has(id));
    if (at) hover(p, id, at, event);
    else if (p.lit) hover(p, null);
    p.lit = !!at;
  };
  const choose = (event) => {
    if (event.type === "keydown" && event.key !== "Enter") return;
    const id = name(event);
    if (p.root.isConnected && id && p.cards.some((c) => c.nodes.has(id))) { event.preventDefault(); select(p, id); }
  };
  const events = { pointerover: point, focusin: point, click: choose, keydown: choose };
  const forget = () => Object.entries(events).forEach(([type, act]) => document.removeEventListener(type, act));
  Object.entries(events).forEach(([type, act]) => document.addEventListener(type, act));
}

function select(p, id) {
  if (p.selected === id) return;
  p.selected = p.asked = id;
  mark(p);
  p.send(id);
}

function mark(p) {
  const path = p.data.path ?? [], steps = new Set(path.slice(1).map((id, i) => JSON.stringify([path[i], id].sort())));
  for (const c of p.cards) {
    c.svg.classList.toggle("traced", path.length > 0);
    for (const [key, e] of c.edges) {
      e.el.classList.toggle("step", steps.has(key));
      e.el.classList.toggle("selected", meant(p, e));
    }
    for (const n of c.nodes.values()) {
      n.el.classList.toggle("step", path.includes(n.id));
      n.el.classList.toggle("selected", n.id === p.selected);
      set(n.shape, { "aria-pressed": n.id === p.selected });
    }
    enter(c, [c.at, p.selected].map((id) => c.nodes.get(id)).find((n) => n && n.state !== "ghost" && c.order.includes(n)) ?? c.order[0]);
  }
}

// A panel is one stop of the Tab key: the node that had the focus last.
function enter(c, n) {
  for (const other of c.nodes.values()) set(other.shape, { tabindex: other === n ? 0 : -1 });
}

function walk(p, c, n, dx, dy) {
  let best = null, least = Infinity;
  const friends = new Set((c.near.get(n.id) ?? []).map(([other]) => other));
  for (const other of c.order) {
    const x = other.px - n.px, y = other.py - n.py, along = x * dx + y * dy;
    if (other === n || other.state === "ghost" || along <= 0 || along < 0.6 * Math.hypot(x, y)) continue;
    const far = Math.hypot(x, y) * (friends.has(other) ? 1 : 2);
    if (far < least) { least = far; best = other; }
  }
  best?.shape.focus();
}

// Edges have an id too on a page with a card for them: the ids of their ends.
const named = (p, e) => p.data.edges && e ? `${e.u.id}|${e.v.id}` : null;
const meant = (p, e) => [`${e.u.id}|${e.v.id}`, `${e.v.id}|${e.u.id}`].includes(p.selected);

// To the next edge of a node, the thickest first.
function turn(p, c, n) {
  const lines = (c.near.get(n.id) ?? []).map(([, e]) => e).sort((a, b) => b.w - a.w);
  const next = lines[(lines.findIndex((e) => meant(p, e)) + 1) % lines.length];
  if (next) select(p, named(p, next));
}

// To the node that is `by` places less important, or as far as there are any.
function leap(c, n, by) {
  const shown = c.order.filter((other) => other.state !== "ghost");
  shown.at(clamp(shown.indexOf(n) + by, 0, shown.length - 1)).shape.focus();
}

// Moves a node, which stays there until the picture is reset or another question asked.
function shift(p, c, n, dx, dy) {
  const home = p.homes.get(n.id);
  home.x = clamp(home.x + dx / p.k, 8, c.w - 8);
  home.y = clamp(home.y + dy / p.k, 8, c.h - 8);
  p.placed.set(n.id, [home.x / c.w, home.y / c.h]);
  view(p, p.k, p.panX, p.panY);
}

function pointers(p, c) {
  const s = c.svg, down = new Map();
  let moved = false, apart = 0, finger = null, held = null, rest = 0;
  s.addEventListener("pointerover", (event) => {
    if (down.size) return;
    const id = event.pointerType === "touch" ? touched(c, event) : key(event), e = event.target.edge;
    if (id) hover(p, id, c, event);
    else if (e) hover(p, null, c, event, e);
    else if (p.over) hover(p, null);
  });
  s.addEventListener("pointerleave", () => !down.size && hover(p, null));
  s.addEventListener("focusin", (event) => {
    const id = key(event);
    if (!id) return;
    enter(c, c.nodes.get((c.at = id)));
    if (event.target.matches(":focus-visible")) hover(p, id, c);
  });
  s.addEventListener("focusout", () => hover(p, null));
  s.addEventListener("click", (event) => {
    if (moved) return;
    const id = finger ? touched(c, finger) : key(event), line = id ?? named(p, event.target.edge);
    finger = null;
    select(p, line !== p.selected ? line : null);
    if (id) hover(p, id, c, event);
  });
  s.addEventListener("dblclick", (event) => key(event) || reset(p));
  s.addEventListener("keydown", (event) => {
    const n = c.nodes.get(key(event)), far = { PageDown: 1, PageUp: -1, Home: -1e6, End: 1e6 }[event.key];
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    if (!n) return;
    if (step && event.shiftKey) shift(p, c, n, 12 * step[0], 12 * step[1]);
    else if (step) walk(p, c, n, ...step);
    else if (far) leap(c, n, far);
    else if (event.key === "Enter" || event.key === " ") select(p, n.id !== p.selected ? n.id : null);
    else if (event.key === "e") turn(p, c, n);

    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  s.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(p, Math.exp(-event.deltaY / 200), at(event));
  }, { passive: false });
  const at = (event) => {
    const frame = s.getBoundingClientRect();
    return [(event.clientX - frame.left) / frame.width - 0.5, (event.clientY - frame.top) / frame.height - 0.5];
  };
  s.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    down.set(event.pointerId, [event.clientX, event.clientY]);
    finger = event.pointerType === "touch" ? event : null;
    const node = c.nodes.get(finger ? touched(c, event) : key(event));
    held = finger ? null : node;
    moved = down.size > 1;
    apart = 0;
    clearTimeout(rest);
    // A finger that rests on a node takes it; one that moves at once scrolls or moves the view.
    if (finger && node && !moved) rest = setTimeout(() => { held = node; hover(p, node.id, c); }, REST);
  });
  s.addEventListener("pointermove", (event) => {
    const last = down.get(event.pointerId);
    if (!last) return;
    const k = enlarged(c), dx = (event.clientX - last[0]) / k, dy = (event.clientY - last[1]) / k;
    if (!moved && Math.hypot(dx, dy) < 5) return;
    clearTimeout(rest);
    if (!moved) { moved = true; hover(p, null); s.setPointerCapture(event.pointerId); }
    down.set(event.pointerId, [event.clientX, event.clientY]);
    if (down.size === 2) {
      const [a, b] = [...down.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (apart) zoom(p, now / apart, at({ clientX: (a[0] + b[0]) / 2, clientY: (a[1] + b[1]) / 2 }));
      apart = now;
    } else if (held) shift(p, c, held, dx, dy);
    else if (finger && p.k === 1) view(p, 1, p.panX - dx / c.w, p.panY); // up and down it scrolls the page
    else view(p, p.k, p.panX - dx / p.k / c.w, p.panY - dy / p.k / c.h);
  });
  for (const name of ["pointerup", "pointercancel"])
    s.addEventListener(name, (event) => { down.delete(event.pointerId); apart = 0; held = null; clearTimeout(rest); });
  s.addEventListener("touchmove", (event) => held && event.preventDefault(), { passive: false });
}

// ---- view

const zoom = (p, by, [x, y] = [0, 0]) => {
  const k = clamp(p.k * by, 1, 8);
  view(p, k, p.panX + x / p.k - x / k, p.panY + y / p.k - y / k);
};
const reset = (p) => view(p, 1, 0, 0);

function view(p, k, panX, panY) {
  Object.assign(p, { k, panX: clamp(panX, -0.5, 0.5), panY: clamp(panY, -0.5, 0.5) });
  p.root.classList.add("moving");
  p.frame ??= requestAnimationFrame(() => {
    p.frame = null;
    draw(p);
    requestAnimationFrame(() => p.frame ?? p.root.classList.remove("moving"));
  });
}

// ---- legend

function legend(p) {
  const { legend: l } = p.data;
  p.size ??= 1;
  p.keys.replaceChildren();
  const item = (text, ...marks) => {
    const el = html("span", "item", p.keys);
    for (const m of marks) el.append(typeof m === "string" ? html("span", "t", null, m) : m);
    if (text) html("span", "t", el, text);
  };
  const canvas = (width, height, x, y) => svg("svg", null, { width, height, viewBox: `${x} ${y} ${width} ${height}`, "aria-hidden": true });
  const icon = (w, name, shape) => {
    const s = canvas(w, 18, -w / 2, -9);
    const g = svg("g", s, { class: "node " + name });
    box(svg("rect", g, { class: "shape" }), ...shape);
    if (name.includes("saturated")) g.firstChild.style.fill = css(color(p, 0.6));
    return s;
  };
  const bar = canvas(96, 12, 0, 0);
  for (let i = 0; i < 32; i++)
    svg("rect", bar, { x: 3 * i, y: 0, width: 3.4, height: 12 }).style.fill = css(color(p, i / 31));
  svg("rect", bar, { class: "frame", x: 0.5, y: 0.5, width: 95, height: 11, rx: 2 });
  if (p.look.color !== "importance") kinds(p, item, icon);
  else if (l.high) item("", l.color, l.low, bar, l.high + (l.note ? `, ${l.note}` : ""));
  item(words.seed, icon(28, "seed saturated", [12, 7, 4]));
  if (p.data.panels.some(({ nodes }) => nodes.some((n) => n.later))) item(words.later, icon(28, "seed saturated later", [12, 7, 4]));
  if (p.data.panels.some(({ nodes }) => nodes.some((n) => n.possible))) item(words.possible, icon(18, "saturated possible", [6, 6, 6]));
  if (p.data.panels.some(({ nodes }) => nodes.some((n) => n.shares))) {
    const s = canvas(16, 18, 0, -9);
    svg("path", s, { class: "bars", d: "M4 8V-8M9 8V0" });
    item(words.shares, s);
  }
  if (p.data.lone) {
    item(words.only, icon(18, "saturated only", [6, 6, 6]));
    item(words.shared, icon(16, "shared", [6, 6, 6]));
  }
  if (l.passages) item(words.passage, icon(16, "passage saturated", [5.5, 5.5, 1.5]));
  if (p.data.panels.some(({ shapes }) => shapes?.some(({ shape }) => shape === "ribbon"))) {
    const s = canvas(34, 18, 0, 0);
    svg("path", svg("g", s, { class: "ribbon hue0" }), { d: "M7 9L27 9" });
    item(words.ribbon, s);
  }
  if (l.wet) item(words.wet, icon(16, "wet", [5.5, 5.5, 5.5]));
  if (l.dry) item(words.dry, icon(16, "dry", [4, 4, 4]));
  item(words.ghost, icon(10, "ghost", [2.6, 2.6, 2.6]));
  const widths = [];
  for (const [w, text] of l.widths) {
    const e = { w, arrow: l.thickness === "flow" }, s = canvas(34, 18, 0, 0);
    const end = (px) => ({ px, py: 9, half: [0, 0] });
    const path = svg("path", s, { class: "edge", d: arrow(end(1), end(33), thick(p, e), e.arrow) });
    if (e.arrow) path.style.fill = css(p.ink);
    widths.push(s, text);
  }
  if (widths.length) item("", l.thickness, ...widths);
}

// The groups of the picture, those of the most nodes first; pointing at one shows which nodes it has.
function kinds(p, item, icon) {
  const names = p.data.groups[p.look.color], seen = new Set();
  for (const c of p.cards) for (const n of c.order) if (n.state === "saturated") seen.add(hueOf(group(p, n)));
  for (const at of [...seen].sort((a, b) => a - b)) {
    const mark = icon(16, "saturated", [6, 6, 6]);
    mark.querySelector(".shape").style.fill = css(hue(p, at));
    item(at < SHOWN ? short(names[at], 26) : words.others, mark);
    const el = p.keys.lastChild;
    el.onpointerenter = () => point(p, (n) => n.state === "saturated" && hueOf(group(p, n)) === at);
    el.onpointerleave = () => hover(p, null);
  }
}

const SHOWN = 8;
const hueOf = (at) => (at < 0 || at >= SHOWN ? SHOWN : at);

function point(p, which) {
  for (const c of p.cards) {
    c.svg.classList.add("dim");
    for (const n of c.order) n.el.classList.toggle("on", which(n));
  }
}

// ---- download

const INK = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin",
  "font-family", "font-size", "font-weight", "font-style", "text-anchor", "paint-order"];

function compose(p) {
  p.root.classList.add("moving");
  hover(p, null);
  const edge = 12, frame = p.root.getBoundingClientRect(), k = frame.width / p.root.offsetWidth;
  const top = p.data.question ? 40 : edge;
  const w = p.root.offsetWidth + 2 * edge, h = p.root.offsetHeight + edge + top;
  const out = svg("svg", null, { xmlns: NS, width: w, height: h, viewBox: `0 0 ${w} ${h}` });
  say(svg("title", out), p.data.panels.map((panel) => panel.alt).join(" "));
  svg("rect", out, { width: w, height: h, fill: getComputedStyle(p.root).caretColor });
  const place = (el) => {
    const r = el.getBoundingClientRect();
    return { x: (r.left - frame.left) / k + edge, y: (r.top - frame.top) / k + top, width: r.width / k, height: r.height / k };
  };
  const { color, fontFamily } = getComputedStyle(p.root);
  say(svg("text", out, { x: edge, y: 26, fill: color, "font-family": fontFamily, "font-size": 16, "font-weight": 600 }),
    short(p.data.question ?? "", Math.floor(w / 9)));
  // Another font than the page's must take the same room.
  const fitted = (text, length) => length && set(text, { textLength: length.toFixed(1), lengthAdjust: "spacingAndGlyphs" });
  for (const c of p.cards) {
    const style = getComputedStyle(c.el);
    svg("rect", out, { ...place(c.el), rx: 10, fill: style.backgroundColor, stroke: style.borderTopColor });
  }
  for (const el of p.root.querySelectorAll(".title, .subtitle, .footer span, .t")) {
    const style = getComputedStyle(el), { x, y, width, height } = place(el), size = parseFloat(style.fontSize);
    const text = svg("text", out, { x, y: y + height / 2 + size * 0.35, fill: style.color,
      "font-family": style.fontFamily, "font-size": size, "font-weight": style.fontWeight });
    say(text, el.textContent);
    if (height < 2 * size) fitted(text, width);
  }
  for (const el of p.root.querySelectorAll("svg")) {
    const copy = out.appendChild(svg("svg", null, { ...place(el), viewBox: el.getAttribute("viewBox"), overflow: "hidden" }));
    for (const from of el.querySelectorAll("rect, path, text")) {
      const style = getComputedStyle(from);
      if (from.closest(".gone, .dots") || style.display === "none" || style.fill === "none" && style.stroke === "none") continue;
      const to = svg(from.localName, copy);
      for (const name of ["x", "y", "width", "height", "rx", "d"]) if (from.hasAttribute(name)) to.setAttribute(name, from.getAttribute(name));
      for (const name of INK) to.setAttribute(name, style.getPropertyValue(name));
      const moved = from.parentNode.getAttribute("transform");
      if (moved) to.setAttribute("transform", moved);
      if (from.localName === "text") {
        say(to, from.textContent);
        fitted(to, from.getComputedTextLength());
      }
    }
  }
  p.root.classList.remove("moving");
  return { text: new XMLSerializer().serializeToString(out), w, h };
}

async function download(p, raster) {
  const { text, w, h } = compose(p);
  let blob = new Blob([text], { type: "image/svg+xml" });
  if (raster) {
    const image = new Image();
    image.src = URL.createObjectURL(blob);
    await image.decode();
    const canvas = html("canvas", "");
    canvas.width = 2 * w;
    canvas.height = 2 * h;
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * w, 2 * h);
    URL.revokeObjectURL(image.src);
    blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  }
  const link = html("a", "");
  link.href = URL.createObjectURL(blob);
  link.download = raster ? "qafd.png" : "qafd.svg";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
