// When a page takes the place of another one, the parameters that only that one had leave the address
// one by one, each as an entry of the history. What follows one click or key shall be one entry.
// In the head of the page, since a first click may come before any component is there.
{
  let acted = false, before = "";
  for (const name of ["pointerdown", "keydown", "click", "popstate"])
    addEventListener(name, () => { acted = name !== "popstate"; }, true);
  history.pushState = (...entry) => {
    History.prototype[acted ? "pushState" : "replaceState"].apply(history, entry);
    acted = false;
    fold();
  };
  // Streamlit lets what a control says take the place of the last entry: another question or
  // workspace would not be left by going back, which left the app.
  history.replaceState = (...entry) => {
    const other = acted && asked(new URL(entry[2] ?? location, location)) !== asked(location);
    History.prototype[other ? "pushState" : "replaceState"].apply(history, entry);
    if (other) acted = false;
  };
  const asked = ({ search }) => {
    const query = new URLSearchParams(search);
    return JSON.stringify(["ws", "q", "dbq"].map(key => query.get(key) || ""));
  };
  // On a phone the menu covers the page: it closes when another page or workspace came. Streamlit
  // closes it after its own links alone.
  const fold = () => {
    const now = location.pathname + new URLSearchParams(location.search).get("ws");
    if (now !== before && innerWidth <= 768)
      document.querySelector("[data-testid=stSidebar][data-collapsed=false] [data-testid=stSidebarCollapseButton] button")?.click();
    before = now;
  };
}
