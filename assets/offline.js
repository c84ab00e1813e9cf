// A page of its own around the panels: without Python, the card next to the picture is made here.
function start(data) {
  const place = document.querySelector("main"), card = document.querySelector("aside"), { panels } = data;
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
  // The text of one panel about a node: its state, numbers, reason, and widest edges.
  const describe = (panel, node, { id, kind }) => {
    if (panels.length > 1) add("h3", panel.title);
    add("p", [kind, node.seed && words.seed, words[node.state]].filter(Boolean).join(" · "));
    facts(node.facts);
    if (node.reason) add("p", node.reason);
    const near = panel.edges.filter((one) => between(one).some((n) => n.id === id));
    if (near.length) add("h4", `${data.legend.thickness} (${near.length})`);
    facts(near.slice(0, 20).map((one) => {
      const [u, v] = between(one), out = u.id === id;
      return [`${one.arrow ? (out ? "→" : "←") : "–"} ${(out ? v : u).name}`, one.facts[0]?.[1] ?? ""];
    }));
  };
  const tell = (id) => {
    card.replaceChildren();
    const edge = panels[0]?.edges.find((one) => between(one).map((n) => n.id).join("|") === id);
    const shown = panels.map((panel) => [panel, panel.nodes.find(({ n }) => data.nodes[n].id === id)]).filter(([, node]) => node);
    if (edge) {
      const [u, v] = between(edge);
      add("h2", `${u.name} ${edge.arrow ? "→" : "–"} ${v.name}`);
      if (edge.label) add("p", edge.label);
      facts(edge.facts);
    } else if (shown.length) {
      const about = data.nodes[shown[0][1].n];
      add("h2", about.name);
      for (const [panel, node] of shown) describe(panel, node, about);
    } else add("p", words.hint);
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
