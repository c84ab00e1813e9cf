// The mass under the finger. x is piecewise linear in the source mass, so the browser walks its breakpoints
// once for a question, as qafd/flow/homotopy.py does, and then draws any mass exactly, without the server.

// ---- the path of solutions

// The data is a `LocalProblem`: its first `size` nodes can fill. Returns pieces: x + (alpha - piece.alpha) slope.
export function walk(problem) {
  const { size: k, sink, drive, end, up } = problem, { u, v, w } = problem;
  const near = Array.from({ length: k }, () => []), outside = Float64Array.from(problem.leak);
  for (let e = 0; e < w.length; e++) {
    if (u[e] < k && v[e] < k) { near[u[e]].push([v[e], w[e]]); near[v[e]].push([u[e], w[e]]); }
    else outside[Math.min(u[e], v[e])] += w[e];
  }
  const active = Float64Array.from(drive.slice(0, k)), rate = active.slice();
  const x = new Float64Array(k), slope = new Float64Array(k), mass = new Float64Array(k);
  const entered = new Uint8Array(k), order = [], inverse = [], pieces = [];
  let alpha = 0;

  const keep = () => pieces.push({ alpha, x: x.slice(), slope: slope.slice() });
  const settle = () => {
    slope.fill(0);
    order.forEach((i, column) => {
      if (active[i]) order.forEach((j, row) => { slope[j] += inverse[row][column] * active[i]; });
    });
    for (let i = 0; i < k; i++) rate[i] = near[i].reduce((sum, [j, weight]) => sum + weight * slope[j], active[i]);
  };
  const advance = (step) => {
    alpha += step;
    for (let i = 0; i < k; i++) entered[i] ? x[i] += step * slope[i] : mass[i] += step * rate[i];
  };
  // One more row of the inverse, by bordering. The pivot is a sum of positive leaks, so nothing cancels.
  const enter = (i) => {
    entered[i] = 1;
    const leaks = (j) => near[j].reduce((sum, [to, weight]) => entered[to] ? sum : sum + weight, outside[j]);
    const place = new Map(order.map((j, row) => [j, row])), through = new Float64Array(order.length);
    for (const [j, weight] of near[i]) {
      const column = place.get(j);
      if (column !== undefined) for (let row = 0; row < through.length; row++) through[row] += weight * inverse[row][column];
    }
    let pivot = leaks(i);
    order.forEach((j, row) => { pivot += through[row] * leaks(j); });
    for (let row = 0; row < through.length; row++) {
      const line = inverse[row], share = through[row] / pivot;
      for (let column = 0; column < through.length; column++) line[column] += share * through[column];
      line[through.length] = share;
    }
    const last = new Float64Array(k);
    through.forEach((value, column) => { last[column] = value / pivot; });
    last[through.length] = 1 / pivot;
    inverse.push(last);
    order.push(i);
  };
  const next = () => {
    let wait = Infinity, which = -1;
    for (let i = 0; i < k; i++) {
      if (entered[i] || !(rate[i] > 0)) continue;
      const needed = Math.max(sink[i] - mass[i], 0) / rate[i];
      if (needed < wait) { wait = needed; which = i; }
    }
    return [wait, which];
  };

  keep();
  for (const stop of [...new Set([...end.slice(0, k), up])].filter((at) => at <= up).sort((a, b) => a - b)) {
    for (let [wait, i] = next(); i >= 0 && alpha + wait <= stop; [wait, i] = next()) {
      advance(wait);
      enter(i);
      settle();
      keep();
    }
    advance(stop - alpha);
    if (stop === up) break;
    for (let i = 0; i < k; i++) if (end[i] <= stop) active[i] = 0;
    settle();
    keep();
  }
  return pieces;
}

// The solution at one alpha: x and mass of all nodes, and the flow of each edge from u to v.
export function solution(problem, pieces, alpha) {
  const { size: k, sink, drive, end, u, v, w } = problem;
  let low = 0, high = pieces.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pieces[middle].alpha <= alpha) low = middle; else high = middle - 1;
  }
  const piece = pieces[low], x = new Float64Array(sink.length), flow = new Float64Array(w.length);
  for (let i = 0; i < k; i++) x[i] = Math.max(piece.x[i] + (alpha - piece.alpha) * piece.slope[i], 0);
  const source = Float64Array.from(drive, (rate, i) => rate * Math.min(alpha, end[i])), mass = source.slice();
  for (let e = 0; e < w.length; e++) {
    flow[e] = w[e] * (x[u[e]] - x[v[e]]);
    if (!x[u[e]]) mass[u[e]] -= flow[e];
    if (!x[v[e]]) mass[v[e]] += flow[e];
  }
  for (let i = 0; i < k; i++) if (x[i] > 0) mass[i] = sink[i];
  return { x, mass, flow, source };
}

// ---- its drawing

// Edges between nodes that are drawn: [from, to, flow]. Passages are replaced by the flow they carry, as
// `contract_passages` in qafd/view/contraction.py does: all inflow leaves in the same proportions.
export function lines(problem, { x, mass, flow, source }, contracted) {
  const { u, v, w, passage, seed } = problem, n = mass.length;
  const edges = [];
  for (let e = 0; e < w.length; e++) {
    if (!x[u[e]] && !x[v[e]]) continue;
    edges.push(flow[e] < 0 ? [v[e], u[e], -flow[e]] : [u[e], v[e], flow[e]]);
  }
  if (!contracted) return { drawn: edges, hidden: new Uint8Array(n) };
  const all = [...mass.keys()], sources = all.filter((i) => seed[i] && source[i] > 0);
  const seeds = new Set(sources.filter((i) => passage[i]));
  if (seeds.size === sources.length) return contract(seeds);
  const without = contract(new Set()), fed = new Set(without.drawn.filter(([, , f]) => f > 0).map(([, to]) => to));
  const alone = new Set(all.filter((i) => !passage[i] && mass[i] > 0 && !source[i] && !fed.has(i)));
  const spared = edges.filter(([from, to, f]) => f > 0 && alone.has(to) && seeds.has(from)).map(([from]) => from);
  return spared.length ? contract(new Set(spared)) : without;

  function contract(spared) {
    const hidden = Uint8Array.from(passage, (is, i) => is && !spared.has(i));
    const sum = new Map(), direct = [], arrivals = new Map(), leaving = new Map();
    const add = (from, to, amount) => from !== to && sum.set(from * n + to, (sum.get(from * n + to) ?? 0) + amount);
    const arrive = (at, from, amount) => {
      if (!arrivals.has(at)) arrivals.set(at, new Map());
      arrivals.get(at).set(from, (arrivals.get(at).get(from) ?? 0) + amount);
    };
    const total = source.slice();
    for (const [from, to, amount] of edges) {
      total[to] += amount;
      if (hidden[from]) leaving.set(from, [...(leaving.get(from) ?? []), [to, amount]]);
      else if (hidden[to]) arrive(to, from, amount);
      else { direct.push([from, to]); add(from, to, amount); }
    }
    // Flow runs downhill in x, so each passage is done when those above it are.
    for (const i of [...leaving.keys()].sort((a, b) => x[b] - x[a])) {
      if (!(total[i] > 0)) continue;
      for (const [to, amount] of leaving.get(i)) for (const [from, came] of arrivals.get(i) ?? []) {
        hidden[to] ? arrive(to, from, came * amount / total[i]) : add(from, to, came * amount / total[i]);
      }
    }
    const drawn = [], done = new Set();
    for (const [key, amount] of sum) {
      const from = Math.floor(key / n), to = key % n, net = amount - (sum.get(to * n + from) ?? 0);
      if (net > 0) { drawn.push([from, to, net]); done.add(key).add(to * n + from); }
    }
    for (const [from, to] of direct) {
      if (done.has(from * n + to)) continue;
      drawn.push([from, to, 0]);
      done.add(from * n + to).add(to * n + from);
    }
    return { drawn, hidden };
  }
}

const number = (value) => Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en-US") : String(+value.toPrecision(3));
const EDGES_PER_NODE = 4, LINEAR = 100;

// The panel of a mass, as `qafd.view.panel` makes it: the nodes by their ids.
export function panel(problem, pieces, alpha) {
  const found = solution(problem, pieces, alpha), { x, mass } = found, { places, sink, seed, scale } = problem;
  const { drawn, hidden } = lines(problem, found, problem.contract);
  const state = (i) => (x[i] > 0 ? "saturated" : mass[i] > 0 ? "wet" : "dry"), STATES = ["saturated", "wet", "dry"];
  const rank = (i) => [seed[i] ? 0 : 1, STATES.indexOf(state(i)), -(x[i] || mass[i])];
  const nodes = [...mass.keys()].filter((i) => places[i] && !hidden[i] && (mass[i] > 0 || seed[i]));
  nodes.sort((i, j) => { const a = rank(i), b = rank(j); return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]; });
  nodes.length = Math.min(nodes.length, problem.limit);
  const here = new Set(nodes), largest = Math.max(...nodes.map((i) => x[i]), 1e-300);
  nodes.sort((i, j) => x[j] - x[i] || mass[j] - mass[i]);
  const between = drawn.filter(([from, to]) => here.has(from) && here.has(to)).sort((a, b) => b[2] - a[2]);
  const full = nodes.filter((i) => x[i] > 0 && !(problem.contract && problem.passage[i])).length;
  const wet = nodes.filter((i) => !x[i] && mass[i] > 0).length, what = problem.contract ? "name" : "node";
  return {
    footer: `${full} ${full === 1 ? what : `${what}s`} retrieved, ${wet} touched`,
    nodes: nodes.map((i) => {
      const value = `${number(100 * x[i] / largest)}%`, facts = [["importance", value], ["mass", `${number(mass[i])} of ${number(sink[i])}`]];
      const t = Math.min(Math.log1p(LINEAR * x[i] / scale.importance) / Math.log1p(LINEAR), 1);
      return { id: places[i].id, state: state(i), seed: !!seed[i], only: false, t, value, facts, reason: "" };
    }),
    edges: between.slice(0, EDGES_PER_NODE * Math.max(nodes.length, 1)).map(([from, to, flow]) => ({
      from: places[from].id, to: places[to].id, w: Math.sqrt(Math.min(flow / scale.amount, 1)), arrow: flow > 0, label: "", facts: [["flow", number(flow)]],
    })),
  };
}

// ---- the finger

const CALM = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)");
const EASE = 45; // ms in which two thirds of the way to the finger are gone
const slider = () => document.querySelector(".st-key-mass input[type=range]");
const tell = (detail) => document.dispatchEvent(new CustomEvent("qafd-mass", { detail }));
const unpack = (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
const runs = new WeakMap();

export default function ({ data, parentElement }) {
  const run = {};
  runs.set(parentElement, run);
  unpack(data).then((problem) => { if (runs.get(parentElement) === run) follow(run, problem); });
  return () => {
    run.watch?.disconnect();
    if (runs.get(parentElement) === run) runs.delete(parentElement);
    tell(null);
  };
}

function follow(run, problem) {
  const value = () => Number(slider()?.value);
  let shown = value(), goal = shown, frame = 0, before = 0, pieces = null;
  const step = (now) => {
    const share = 1 - Math.exp(-Math.max(now - before, 1) / EASE);
    frame = 0;
    before = now;
    pieces ??= walk(problem);
    const left = goal - shown;
    // The control may be missing at first: without a number to start from, nothing glides.
    shown = CALM.matches || !(Math.abs(left) >= 0.002 * problem.up) ? goal : shown + share * left;
    tell({ question: problem.question, mass: shown, places: problem.places, panel: panel(problem, pieces, shown) });
    document.querySelector(".st-key-mass .ticks")?.style.setProperty("--full", `${100 * shown / problem.up}%`);
    if (shown !== goal) frame = requestAnimationFrame(step);
  };
  run.watch = new MutationObserver((changes) => {
    if (!changes.some(({ target }) => target.closest(".st-key-mass"))) return;
    goal = Math.min(value(), problem.up);
    if (!Number.isFinite(goal) || goal === shown || frame) return;
    before = performance.now() - 16;
    frame = requestAnimationFrame(step);
  });
  run.watch.observe(document.body, { subtree: true, attributeFilter: ["aria-valuetext"] });
}
