// Keys that press elements of the page, while nothing is typed. Elements are searched at every
// press, also in the shadow roots of components, since the page may have changed.
export default function ({ data: [{ on, rows, title, close }], parentElement }) {
  const place = parentElement.querySelector(".shortcuts");
  if (!place.firstChild) {
    place.innerHTML = '<dialog aria-labelledby="title"><h2 id="title"></h2><dl></dl><button type="button"></button></dialog>';
    place.querySelector("h2").textContent = title;
    place.querySelector("button").textContent = close;
  }
  const box = place.querySelector("dialog");
  fill(box, rows);
  document.qafdKeys?.abort();
  document.qafdKeys = new AbortController();
  if (on) document.addEventListener("keydown", (event) => heard(event, box), { signal: document.qafdKeys.signal });
}

const TYPING = "input:not([type=checkbox], [type=radio], [type=range]), textarea, select, dialog, " +
  "[contenteditable], [role=textbox], [role=combobox], [role=listbox], [role=grid], [role=dialog], [data-testid=stDataFrame]";

function heard(event, box) {
  const at = event.composedPath()[0], away = at === document.body;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
  if (event.composedPath().some((el) => el.matches?.(TYPING))) return;
  const act = {
    "/": () => question(),
    "?": () => { if (!box.open) box.showModal(); return true; },
    n: () => turn(1),
    p: () => turn(-1),
    t: () => tab((one) => one.textContent.trim() === "Table"),
    f: () => focus(one("input.find")),
    g: () => focus(one('[data-node][tabindex="0"]')),
    "+": () => press('button[aria-label="Zoom in"]'),
    "-": () => press('button[aria-label="Zoom out"]'),
    0: () => press('button[aria-label="Show everything"]'),
    // Elsewhere these two belong to the focused element.
    Escape: () => away && unselect(),
    " ": () => away && !event.repeat && film(/^(Play|Pause)$/),
    ".": () => film(/^Step$/),
  }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (act?.()) event.preventDefault();
}

const all = (selector, root = document) => [...root.querySelectorAll("*")].flatMap((el) => [
  ...(el.matches(selector) && el.getClientRects().length ? [el] : []),
  ...(el.shadowRoot ? all(selector, el.shadowRoot) : [])]);
const one = (selector) => all(selector)[0];
const press = (selector) => { const el = one(selector); el?.click(); return !!el; };
const focus = (el) => { el?.focus(); el?.scrollIntoView({ block: "nearest" }); return !!el; };
const film = (name) => {
  const el = all(".movie .bar button").find((button) => name.test(button.textContent));
  el?.click();
  return !!el;
};

function question() {
  const box = one('input[aria-label="Question"]');
  box?.select();
  return focus(box);
}

function unselect() {
  for (const picture of all(".panel")) picture.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  return false;
}

// The first row of tabs; those inside of a tab are reached by Tab and arrow keys.
const tabs = () => [...(one("[role=tablist]")?.querySelectorAll("[role=tab]") ?? [])];

// Explore folds its tabs: the first key unfolds them.
const unfold = () => press(".st-key-more input");

function turn(by) {
  if (!tabs().length) return unfold();
  const row = tabs(), now = row.findIndex((one) => one.ariaSelected === "true");
  return tab((one, i) => i === (now + by + row.length) % row.length);
}

function tab(wanted) {
  if (!tabs().length) return unfold();
  const found = tabs().find(wanted);
  found?.click();
  return focus(found);
}

function fill(box, rows) {
  const list = box.querySelector("dl");
  list.replaceChildren();
  for (const [keys, what] of rows) {
    const term = list.appendChild(document.createElement("dt"));
    for (const key of keys) term.appendChild(document.createElement("kbd")).textContent = key;
    list.appendChild(document.createElement("dd")).textContent = what;
  }
  box.querySelector("button").onclick = () => box.close();
  box.onclick = (event) => { if (event.target === box) box.close(); };
}
