// Four steps around the first page, once for each visitor; each outlines its subject.
const SEEN = "qafd-tour";
let at = 0; // a rerun that draws the tour again continues at this step
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
  const outline = (index, color) => {
    const el = document.querySelector(PLACES[index]);
    if (!el) return;
    Object.assign(el.style, { outline: color, outlineOffset: "6px", borderRadius: "4px", scrollMarginTop: "4.5rem" });
    // On a phone the tour is at the lower edge, over the page; its subject and the next one are above it.
    if (color && matchMedia("(max-width: 640px)").matches) el.scrollIntoView({ block: at ? "start" : "nearest" });
  };
  // Using the outlined element ends the step; several clicks there are one use.
  const used = ({ target }) => {
    if (!place.isConnected) { document.removeEventListener("click", used); return; }
    const step = at;
    if (target.closest?.(PLACES[step])) setTimeout(() => at === step && place.firstChild && on.onclick(), 700);
  };
  document.addEventListener("click", used);
  const show = () => {
    count.textContent = of.replace("{number}", at + 1).replace("{all}", steps.length);
    words.textContent = steps[at];
    on.textContent = at + 1 < steps.length ? next : done;
    leave.hidden = at + 1 === steps.length;
    outline(at, "2px solid var(--st-primary-color, #1e7a3c)");
  };
  const end = () => {
    outline(at, "");
    document.removeEventListener("click", used);
    try { localStorage.setItem(SEEN, "1"); } catch { /* A browser may refuse to remember. */ }
    place.replaceChildren();
  };
  leave.onclick = end;
  on.onclick = () => {
    outline(at, "");
    if (at + 1 === steps.length) { end(); return; }
    at += 1;
    show();
  };
  show();
}

function read() {
  try { return localStorage.getItem(SEEN); } catch { return "1"; }
}
