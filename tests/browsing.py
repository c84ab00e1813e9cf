"""Waiting in a browser for a state: an idle script, a drawn picture, a value that rests."""

PAINTED = "[data-painted]"
IDLE = '[data-test-script-state="notRunning"]'
QUIET = f"""() => {{
    if (!document.querySelector('{IDLE}')) window.busyAt = performance.now();
    return performance.now() - (window.busyAt ??= performance.now()) > 300;
}}"""


def settle(page):
    """Wait until the script of the page has been idle for 0.3 s, as a change starts it a little later."""
    page.wait_for_selector(IDLE, state="attached", timeout=30_000)
    page.evaluate("window.busyAt = performance.now()")
    page.wait_for_function(QUIET, timeout=30_000)


def rest(page, read):
    """Return what `read` gives as soon as it gives the same three times in a row, 0.2 s apart."""
    found = [read()]
    for _ in range(150):
        if len(found) > 2 and found[-1] == found[-2] == found[-3]:
            return found[-1]
        page.wait_for_timeout(200)
        found.append(read())
    raise AssertionError(f"it does not rest: {found[-3:]}")
