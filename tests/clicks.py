"""Pages of the app without a browser: open one, read it, press its buttons."""

from streamlit.testing.v1 import AppTest


def page(name: str, **query: str | list[str]) -> AppTest:
    """A page by its name in `ui.pages`, run once; on the songbook unless `ws` says otherwise."""
    app = AppTest.from_string(
        f"import streamlit as st\nfrom qafd import ui\nui.run(st.navigation(ui.pages({name!r})))",
        default_timeout=60)
    for key, value in {"ws": "songbook", **query}.items():
        app.query_params[key] = value
    app.run()
    assert not app.exception
    return app


def shown(app: AppTest) -> str:
    """All text of a page, without the backslashes that keep it from being markup."""
    kinds = ("markdown", "caption", "warning", "error", "html", "subheader", "code")
    return "\n".join(str(getattr(e, "body", None) or e.value)
                     for kind in kinds for e in app.get(kind)).replace("\\", "")


def press(app: AppTest, label: str) -> None:
    """Click the button of a label."""
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception
