// A page of its own around the panels: without Python, the card beside the picture is made here.
function start(data) {
  const place = document.querySelector("main"), card = document.querySelector("aside");
  const nodes = new Map(), panel = data.panels[0];
  for (const shown of panel.nodes) nodes.set(data.nodes[shown.n].id, { ...data.nodes[shown.n], ...shown });
  const add = (tag, text, parent = card) => {
    const el = document.createElement(tag);
    el.textContent = text;
    parent.append(el);
    return el;
  };
  const facts = (rows) => {
    const table = add("table", "");
    for (const [name, value] of rows) {
      const row = add("tr", "", table);
      add("td", name, row);
      add("td", value, row);
    }
  };
  const between = (edge) => [data.nodes[edge.u], data.nodes[edge.v]];
  const tell = (id) => {
    card.replaceChildren();
    const node = nodes.get(id);
    const edge = panel.edges.find((one) => between(one).map((n) => n.id).join("|") === id);
    if (edge) {
      const [u, v] = between(edge);
      add("h2", `${u.name} ${edge.arrow ? "→" : "–"} ${v.name}`);
      if (edge.label) add("p", edge.label);
      facts(edge.facts);
    } else if (node) {
      add("h2", node.name);
      add("p", [node.kind, node.seed && data.words.seed, data.legend.plain ? "" : data.words[node.state]].filter(Boolean).join(" · "));
      facts(node.facts);
      if (node.reason) add("p", node.reason);
      const near = panel.edges.filter((one) => between(one).some((n) => n.id === id));
      if (near.length) add("h3", `${data.legend.thickness} (${near.length})`);
      facts(near.slice(0, 20).map((one) => {
        const [u, v] = between(one), out = u.id === id;
        return [`${one.arrow ? (out ? "→" : "←") : "–"} ${(out ? v : u).name}`, one.facts[0]?.[1] ?? ""];
      }));
    } else add("p", data.words.hint);
  };
  const send = (name, value) => {
    if (name !== "selected") return;
    data.selected = value;
    tell(value);
  };
  const draw = () => show(data, place, send);
  draw();
  tell(data.selected);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
