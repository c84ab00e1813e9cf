"""The views inside a page: every tab and every choice of a view, opened in turn."""


CHOICES = """() => {
    const found = [];
    const main = document.querySelector("[data-testid=stMain]");
    for (const group of main.querySelectorAll("[role=tablist], [role=radiogroup]")) {
        const options = [...group.querySelectorAll("[role=tab], [role=radio], input[type=radio]")];
        const names = options.map(each => (each.closest("label") || each).textContent.trim());
        const rows = group.closest("[data-testid=stRadio]") && options.length > 6;
        options.forEach((each, at) => {
            const box = (each.closest("label") || each).getBoundingClientRect();
            const open = each.ariaSelected === "true" || each.ariaChecked === "true" || each.checked;
            delete each.dataset.choice;
            if (!box.width || each.disabled || rows && at + 1 < options.length) return;
            each.dataset.choice = found.length;
            found.push({key: `${names.join("|")}: ${names[at]}`, open});
        });
    }
    return found;
}"""
"""Tabs and radio buttons of a page, as far as they are shown, and whether each is chosen.

Many radio buttons are rows of one view, of which the last stands for all.
"""


def walk(page, settle):
    """Opens each view that a page's tabs and radio buttons lead to, inner ones first."""
    seen = set()
    yield ""
    while True:
        choices = page.evaluate(CHOICES)
        seen |= {each["key"] for each in choices if each["open"]}
        unseen = [at for at, each in enumerate(choices) if each["key"] not in seen]
        if not unseen:
            return
        last = unseen[-1]  # an inner one stands after those that lead to it
        seen.add(choices[last]["key"])
        page.locator(f"[data-choice='{last}']").dispatch_event("click")
        settle(page)
        yield choices[last]["key"]
