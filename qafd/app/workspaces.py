"""Which workspace a page works on, and the one place where errors become sentences."""

import errno
import html
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from qafd.app.home import home
from qafd.app.keys import keys
from qafd.app.pages import PAGES, for_a_class, script
from qafd.app.provider import spending
from qafd.errors import ParameterError, QafdError
from qafd.ingest.jobs import needs_worker, start_worker
from qafd.knowledge import KnowledgeGraph
from qafd.retrieve.compare import listed
from qafd.samples import SAMPLES
from qafd.storage.sqlite import Store
from qafd.storage.sqlite.opening import writable
from qafd.view.panel import clean

ASKS = {"explore": "q", "compare": "q", "lab": "q", "database": "dbq"}  # the key of its question
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")


def named_file() -> Path | None:
    """The workspace file that the app was started with, if any: $QAFD_DB."""
    place = os.environ.get("QAFD_DB")
    return Path(place) if place else None


def path_of(name: str) -> Path:
    """The file of a workspace; names are letters, digits, - and _ only."""
    given = named_file()
    if given is not None and name == given.stem:
        return given
    if not _NAME.fullmatch(name):
        raise ParameterError(f"{name[:60]!r} cannot be a workspace name; use up to 60 "
                             "letters from a to z, digits, '-' and '_'")
    return home() / f"{name}.db"


def names() -> list[str]:
    """All workspaces: the one the app was started with, the samples, the user's own."""
    given = named_file()
    own = sorted(p.stem for p in home().glob("*.db") if _NAME.fullmatch(p.stem))
    return list(dict.fromkeys([*([given.stem] if given else []), *SAMPLES, *own]))


def keep(key: str) -> str:
    """The key of a widget whose value shall outlive a visit to another page; links win over it."""
    kept: dict[str, object] = st.session_state.setdefault("kept", {})
    if key in st.session_state:
        # Setting it takes it along to the widget of the same key on another page.
        st.session_state[key] = kept[key] = st.session_state[key]
    elif key in kept and key not in st.query_params:
        st.session_state[key] = kept[key]
    return key


def keep_linked(key: str) -> None:
    """Keep what a link says of a widget that is not drawn now."""
    if key in st.query_params:
        st.session_state.setdefault("kept", {})[key] = st.query_params[key]


def forget(key: str) -> None:
    """Let a kept widget start anew."""
    st.session_state.get("kept", {}).pop(key, None)
    st.session_state.pop(key, None)


def forget_all_but(*keys: str) -> None:
    """Let all kept widgets but these start anew."""
    for key in set(st.session_state.get("kept", {})) - set(keys):
        forget(key)


def choose(name: str) -> None:
    """Let the next run begin with another workspace."""
    st.session_state["next_ws"] = name


def is_sample(path: Path) -> bool:
    """Whether a workspace is the user's copy of a bundled sample."""
    return path.stem in SAMPLES and path == home() / path.name and path != named_file()


def new_workspace(key: str, labelled: bool = True) -> None:
    """A name and a button that make a workspace and choose it; the key is that of the form."""
    with st.form(key, clear_on_submit=True, border=False):
        box, button = st.columns([3, 1], vertical_alignment="bottom", gap="small")
        name = box.text_input("New workspace", placeholder="letters, digits, - and _",
                              label_visibility="visible" if labelled else "collapsed")
        # Enter and a click on the button send the form twice, empty the second time.
        if button.form_submit_button("Create") and name.strip():
            _create("-".join(name.split()))


def _create(name: str) -> None:
    """Make a workspace and choose it; a name that cannot be is said beside the form."""
    try:
        path = path_of(name)
    except ParameterError as error:
        st.error(said(error))
        return
    if name in names():
        st.error(plain(f"There is a workspace {name} already; choose another name."))
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    KnowledgeGraph.open(path)
    choose(name)
    st.session_state["created"] = name
    st.rerun()


@st.dialog("New workspace")
def _ask_for_name() -> None:
    st.caption("For documents of your own; samples and other workspaces stay as they are.")
    new_workspace("ask_name", labelled=False)


def _choose_workspace() -> bool:
    """The box that chooses the workspace, on every page; whether the one of the link is there."""
    choices = names()
    asked = st.query_params.get("ws")
    if "next_ws" in st.session_state:
        asked = st.session_state["ws"] = st.session_state.pop("next_ws")
    if st.session_state.get("ws", choices[0]) not in choices:
        st.session_state["ws"] = choices[0]
    chosen = st.sidebar.selectbox(
        "Workspace", choices, key="ws", bind="query-params",
        help="Samples and your own document collections.")
    if chosen in SAMPLES:
        st.sidebar.caption(SAMPLES[chosen])
    if st.sidebar.button("New workspace", icon=":material/add:", type="tertiary"):
        _ask_for_name()
    if asked is None or asked in choices:
        return True
    gone(f"There is no workspace {asked[:60]!r} here; choose one that is, or make a new one.",
         choices, choose)
    return False


def gone(sentence: str, choices: Sequence[str], chosen: Callable[[str], None]) -> None:
    """Say that what a link names is not here, above a button for each thing that is."""
    st.error(plain(sentence), icon=":material/error:")
    with st.container(horizontal=True, gap="small"):
        for name in choices:
            st.button(plain(name), key=f"instead {name}", on_click=chosen, args=(name,))


def workspace() -> KnowledgeGraph:
    """The chosen workspace; a sample is copied when it is first opened."""
    chosen = st.session_state["ws"]
    if chosen in SAMPLES and path_of(chosen) != named_file():
        KnowledgeGraph.sample(chosen, home())
    return KnowledgeGraph.open(path_of(chosen), keys(), spending())


def keep_workers_going() -> None:
    """Start a worker for every workspace whose jobs were left by one that ended."""
    if st.session_state.get("checked_workers"):
        return
    st.session_state["checked_workers"] = True
    given = named_file()
    for path in [*home().glob("*.db"), *([given] if given and given.exists() else [])]:
        try:
            # nobody chose it: a look must not renew its schema
            with Store.open(path, read_only=True) as store:
                waiting = needs_worker(store)
            if waiting:
                start_worker(path, keys())
        except QafdError:
            continue  # a damaged workspace says so when it is opened


def run(page: StreamlitPage) -> None:
    """Run a page; an error that the user can mend becomes one sentence on it."""
    if get_script_run_ctx() is None:
        return  # a child process that imports the main script shows nothing
    linked = {} if "linked" in st.session_state else {
        key: st.query_params.get_all(key) for key in st.query_params}
    st.session_state["linked"] = True
    title = _title(page)
    st.set_page_config(title)
    try:
        if page.title == PAGES["learn"][0] and for_a_class() or _choose_workspace():
            _draw(page)
    except QafdError as error:
        st.error(said(error), icon=":material/error:")
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        st.error(plain(f"{error.filename} cannot be written ({error.strerror}); check the folder "
                       "and its permissions."), icon=":material/error:")
    if "ws" in st.session_state and (path := path_of(st.session_state["ws"])).is_file() \
            and not writable(path):
        st.sidebar.caption("This workspace cannot be written here: it can be read but not changed.")
    if title != (title := _title(page)):
        st.set_page_config(title)
    refused = [plain(f"{key}={text[:40]}") for key, texts in linked.items() for text in texts
               if not _taken(key, text)]
    if refused:
        st.toast(f"The link asks for {listed(refused)}, which this page cannot show. The controls "
                 "say what it shows.", icon=":material/link_off:", duration="infinite")


def _title(page: StreamlitPage) -> str:
    """What the browser calls a page: its question first, for tabs show only the beginning."""
    key = ASKS.get(script(page).stem)
    question = key and st.session_state.get(key, st.query_params.get(key))
    return " · ".join(filter(None, [clean(question or "", 60), page.title, "QAFD Explorer"]))


def _draw(page: StreamlitPage) -> None:
    """Run the script of a page as a part of the main script."""
    # page.run() makes every widget one of its page alone. When the page changes, Streamlit takes
    # such widgets out of the address, first in an entry of the browser's history that has the old
    # page without its state, and gives the new page's widgets back to the address only in a run
    # after the next. Those of the main script stay in it: two pages that show a question share it.
    path = script(page)
    before = st.session_state.get("script")
    changed = before != path
    st.session_state["script"] = path
    if changed and before is not None:
        # A link to a page that was seen before would lose against what its widgets had then; the
        # address of the page before may still be there too, and says what they have.
        for key in set(st.query_params) & set(st.session_state) - {"ws"}:
            if not all(_shows(key, text) for text in st.query_params.get_all(key)):
                forget(key)
    # What the main script draws stays until it is replaced; a page begins on an empty one.
    with st.empty().container() if changed else st.container():
        exec(compile(path.read_bytes(), path, "exec"), {"__name__": "__main__"})


def _taken(key: str, text: str) -> bool:
    """Whether a page's widget shows what a link says, as far as the page has such a widget."""
    # What a widget cannot take is dropped from the address, as is what it shows anyway; the two
    # named here have their own sentences.
    told = key in ("ws", "methods")
    return (told or key not in st.session_state or text in st.query_params.get_all(key)
            or _shows(key, text))


def _shows(key: str, text: str) -> bool:
    value = st.session_state[key]
    return any(_same(text, one) for one in (value if isinstance(value, list) else [value]))


def _same(text: str, value: object) -> bool:
    try:
        return text.lower() == str(value).lower() or float(text) == value
    except ValueError:
        return False


def said(error: QafdError | str) -> str:
    """The sentence of an error or a notice for Streamlit's markdown, beginning with a capital."""
    return plain(capital(str(error)))


def capital(text: str) -> str:
    """A sentence with its capital; what does not begin with a word may begin with a name."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+ ", text) else text


def safe(text: str, length: int = 2000) -> str:
    """Text for st.html: one line, without direction characters, with nothing taken for markup."""
    return html.escape(clean(text, length))


def safe_lines(text: str) -> str:
    """Text for st.html like `safe`, with its line breaks."""
    return "<br>".join(safe(line, 4000) for line in text.split("\n"))


def plain(text: str) -> str:
    """Text for Streamlit's markdown in which nothing is taken for markup."""
    # Addresses become links after escapes are read; a word joiner, which nobody sees, keeps them.
    text = re.sub(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@)", "\u2060", text, flags=re.I)
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~$:<>&])", r"\\\1", text)
