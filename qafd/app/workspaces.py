"""The workspace of a page: the box that chooses it, and making a new one."""

import os
import re
from collections.abc import Callable, Sequence

import streamlit as st

from qafd.app.error_display import with_errors_shown
from qafd.app.escaping import escape_sentence, plain
from qafd.app.pages import page
from qafd.app.provider import keys, preferences, spending
from qafd.app.session import WORKSPACE, Coming, is_private, put_next, session
from qafd.errors import ParameterError, QafdError
from qafd.ingest.jobs import needs_worker, start_worker
from qafd.knowledge import KnowledgeGraph
from qafd.resources import home
from qafd.samples import SAMPLES, sample_file
from qafd.storage import (
    Location,
    beside,
    copy_workspace,
    names_beside,
    open_workspace,
    place_of,
    size_of,
)

LONGEST = 60  # characters of a name
_UNFIT = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|%#]+')  # in names of files and in addresses


def _start_place() -> str:
    """The workspace that the app was started with, a URL or a path: $QAFD_DB, else ""."""
    return os.environ.get("QAFD_DB", "")


def _root() -> Location:
    """A workspace next to which the app keeps all others: one at home, or the one on a server."""
    return _start_place() if is_on_server() else home() / "any.db"


def is_on_server() -> bool:
    """Return True if the app was started with a workspace of a database server."""
    return "://" in _start_place()


def location_of(name: str) -> Location:
    """Return the place of a workspace.

    Raises
    ------
    ParameterError
        The name cannot be that of a file.
    """
    given = _start_place()
    if given and name == place_of(given).name:
        return given
    if not is_name(name):
        raise ParameterError(f"{name[:LONGEST]!r} cannot be a workspace name; use up to {LONGEST} "
                             "characters, not beginning with a dot and without / \\ : * ? \" < > | % #")
    return beside(_root(), name)


def names() -> list[str]:
    """All workspaces: the one the app was started with, the samples, the user's own."""
    given = _start_place()
    found = [place_of(given).name] if given else []
    found += SAMPLES
    found += filter(is_name, names_beside(_root()))
    return list(dict.fromkeys(found))


def is_name(name: str) -> bool:
    """Return True if a workspace can have this name as it is."""
    return bool(name) and name == fit_name(name)


def fit_name(title: str) -> str:
    """Turn any title into a name: unfit characters become "-", longer ones are cut."""
    return _UNFIT.sub("-", " ".join(title.split())).lstrip(".")[:LONGEST].strip()


def chosen_name() -> str:
    """The name of the chosen workspace."""
    return str(st.session_state[WORKSPACE])


def choose(name: str) -> None:
    """Let the next run begin with another workspace."""
    put_next(WORKSPACE, name)


def is_at_home(knowledge: KnowledgeGraph) -> bool:
    """Return True if a workspace is in the app's folder, and not the one the app was started with."""
    given = _start_place()
    if given and knowledge.id == place_of(given).id:
        return False
    return knowledge.id == place_of(beside(_root(), knowledge.name)).id


def is_sample(knowledge: KnowledgeGraph) -> bool:
    """Return True if a workspace is the user's copy of a bundled sample."""
    return knowledge.name in SAMPLES and is_at_home(knowledge)


def new_workspace(key: str) -> None:
    """A name and a button that make a workspace and choose it; the key is that of the form."""
    with st.form(key, clear_on_submit=True, border=False):
        box, button = st.columns([3, 1], vertical_alignment="bottom", gap="small")
        name = box.text_input("New workspace", placeholder="any title")
        # Enter and a click on the button send the form twice, empty the second time.
        if button.form_submit_button("Create") and name.strip():
            _create(fit_name(name))


def _create(name: str) -> None:
    """Make a workspace and go where documents are added to it; a wrong name is reported at the form."""
    try:
        location = location_of(name)
    except ParameterError as error:
        st.error(escape_sentence(error))
        return
    if name in names():
        st.error(plain(f"There is a workspace {name} already; choose another name."))
        return
    home().mkdir(parents=True, exist_ok=True)
    KnowledgeGraph.open(location)
    choose(name)
    st.switch_page(page("documents"))


def _ask_for_name() -> None:
    st.caption("For documents of your own; samples and other workspaces stay as they are.")
    new_workspace("ask_name")


def choose_workspace() -> bool:
    """The box that chooses the workspace, on every page; whether the one of the link is there."""
    choices = names()
    asked = st.query_params.get(WORKSPACE)
    coming = session().widgets.pop(WORKSPACE, None)
    if isinstance(coming, Coming):
        asked = st.session_state[WORKSPACE] = str(coming.value)
    if st.session_state.get(WORKSPACE, choices[0]) not in choices:
        st.session_state[WORKSPACE] = choices[0]
    elif asked is None and WORKSPACE in st.session_state:
        # Setting it says it to the browser again: a click on another page before this one was
        # drawn to its end takes the choice out of the address and out of the box.
        st.session_state[WORKSPACE] = st.session_state[WORKSPACE]
    chosen = st.sidebar.selectbox(
        "Workspace", choices, key=WORKSPACE, bind="query-params",
        help="Samples and your own document collections.")
    if chosen in SAMPLES:
        st.sidebar.caption(f"{SAMPLES[chosen]}. To ask your own documents, make a new workspace.")
    if st.sidebar.button("New workspace", icon=":material/add:", type="tertiary"):
        st.dialog("New workspace")(with_errors_shown(_ask_for_name))()
    if asked is None or asked in choices:
        return True
    offer_instead((f"There is no workspace {repr(asked[:60])} here; choose another, or make a new "
                   "one."), choices, choose)
    return False


def offer_instead(sentence: str, choices: Sequence[str], choose: Callable[[str], None]) -> None:
    """Say that what a link names is not here, above a button for each thing that is."""
    st.error(plain(sentence), icon=":material/error:")
    with st.container(horizontal=True, gap="small"):
        for name in choices:
            st.button(plain(name), key=f"instead {name}", on_click=choose, args=(name,))


def workspace() -> KnowledgeGraph:
    """The chosen workspace; a sample is copied when it is first opened."""
    chosen = chosen_name()
    location = location_of(chosen)
    if chosen in SAMPLES and location != _start_place():
        if not is_on_server():
            KnowledgeGraph.sample(chosen, home())
        elif size_of(location) is None:
            copy_workspace(sample_file(chosen), location)
    knowledge = KnowledgeGraph.open(location, keys(), spending(), preferences().calls)
    knowledge.names_questions = not is_private()
    return knowledge


def keep_workers_going() -> None:
    """Start a worker for every workspace whose jobs were left by one that ended."""
    if session().workers_checked:
        return
    session().workers_checked = True
    places = [beside(_root(), name) for name in names_beside(_root())]
    if _start_place():
        places.append(_start_place())
    for place in places:
        try:
            # nobody chose it: a look must not renew its schema
            with open_workspace(place, read_only=True) as store:
                waiting = needs_worker(store, keys())
            if waiting:
                spending()  # which the worker is told of
                start_worker(place, keys())
        except QafdError:
            continue  # a damaged workspace says so when it is opened
