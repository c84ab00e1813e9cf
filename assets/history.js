// When a page replaces another one, the old page's own parameters are removed from the address one by
// one, each as an entry of the history. All changes after one click or key shall be one entry.
// In the head of the page, since a first click may precede the first component.
{
  let acted = false, before = "";
  for (const name of ["pointerdown", "keydown", "click", "popstate"])
    addEventListener(name, () => { acted = name !== "popstate"; }, true);
  history.pushState = (...entry) => {
    History.prototype[acted ? "pushState" : "replaceState"].apply(history, entry);
    acted = false;
    fold();
  };
  // Streamlit writes a control's value over the last entry: going back would then leave the app
  // instead of the question or workspace.
  history.replaceState = (...entry) => {
    const other = acted && asked(new URL(entry[2] ?? location, location)) !== asked(location);
    History.prototype[other ? "pushState" : "replaceState"].apply(history, entry);
    if (other) acted = false;
  };
  const asked = ({ search }) => {
    const query = new URLSearchParams(search);
    return JSON.stringify(["ws", "q", "dbq"].map(key => query.get(key) || ""));
  };
  // On a phone the menu covers the page: it closes after a change of page or workspace. Streamlit
  // closes it after its own links alone.
  const fold = () => {
    const now = location.pathname + new URLSearchParams(location.search).get("ws");
    if (now !== before && innerWidth <= 768)
      document.querySelector("[data-testid=stSidebar][data-collapsed=false] [data-testid=stSidebarCollapseButton] button")?.click();
    before = now;
  };
}
