"""Pages of the app without a browser: open one, read it, press its buttons."""


from streamlit.testing.v1 import AppTest

from qafd.app.error_display import BROKEN

KINDS = ("title", "header", "subheader", "markdown", "caption", "info", "success", "warning",
         "error", "html", "code")


def page(name, **query):
    """A page by its name in PAGES, run once with these query parameters."""
    app = AppTest.from_string(
        "import streamlit as st\nfrom qafd.app.frame import run\n"
        "from qafd.app.pages import pages\n"
        f"run(st.navigation(pages({name!r})))",
        default_timeout=60)
    for key, value in query.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    assert not [error.value for error in app.error if BROKEN in error.value]
    return app


def shown(app):
    """All text of a page, without the backslashes that keep it from being markup."""
    return "\n".join(str(getattr(e, "body", None) or e.value)
                     for kind in KINDS for e in app.get(kind)).replace("\\", "")


def press(app, label):
    """Click the button of a label."""
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception
