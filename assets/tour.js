// Four steps around the first page, once for each visitor; each outlines what it speaks of.
const SEEN = "qafd-tour";
const PLACES = ["[class*=st-key-examples-]", ".st-key-picture, [class*=st-key-picture-]", "[class*=st-key-picture-]", ".st-key-mass"];

export default function ({ data: [{ steps, next, skip, done, of }], parentElement }) {
  const place = parentElement.querySelector(".tour");
  if (place.firstChild || read()) return;
  const add = (tag, parent) => parent.appendChild(document.createElement(tag));
  const count = add("small", place), words = add("p", place), row = add("div", place);
  const leave = add("button", row), on = add("button", row);
  place.setAttribute("role", "note");
  leave.type = on.type = "button";
  leave.textContent = skip;
  on.className = "next";
  let at = 0;
  const outline = (index, color) => {
    const el = document.querySelector(PLACES[index]);
    if (el) el.style.outline = color;
  };
  const show = () => {
    count.textContent = of.replace("{number}", at + 1).replace("{all}", steps.length);
    words.textContent = steps[at];
    on.textContent = at + 1 < steps.length ? next : done;
    outline(at, "2px solid var(--st-primary-color, #1e7a3c)");
  };
  const end = () => {
    outline(at, "");
    try { localStorage.setItem(SEEN, "1"); } catch { /* A browser may refuse to remember. */ }
    place.replaceChildren();
  };
  leave.onclick = end;
  on.onclick = () => {
    outline(at, "");
    at += 1;
    if (at < steps.length) show();
    else end();
  };
  show();
}

function read() {
  try { return localStorage.getItem(SEEN); } catch { return "1"; }
}
