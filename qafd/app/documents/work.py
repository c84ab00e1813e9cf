"""The waiting and running work on documents: its progress, and questions to ask afterwards."""

from dataclasses import dataclass, field

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from qafd.app.documents.models import meter, start
from qafd.app.error_display import with_errors_shown
from qafd.app.escaping import brief, escape_sentence, plain
from qafd.app.pages import way
from qafd.app.provider import keys
from qafd.app.session import exchange, session
from qafd.ingest.jobs import cancel, estimate_unparsed, find_foreign, needs_worker, resume
from qafd.knowledge import KnowledgeGraph
from qafd.plan.suggest import questions_of, rank_names
from qafd.storage import Workspace
from qafd.storage.rows import Job
from qafd.time_left import TimeLeft
from qafd.view.panel import clean
from qafd.wording import count, join_words, say_left
from qafd.wording.documents import say_job, say_read

READING = "extracting"
PHASES = {"parsing": (0.0, 0.8), READING: (0.0, 0.8), "embedding": (0.8, 0.9),
          "assembling": (0.9, 0.95), "comparing names": (0.95, 1.0), "building layers": (0.95, 1.0)}
"""Where the phases begin and end on the bar."""
UNITS = {"parsing": "file", "embedding": "vector", "comparing names": "name",
         "building layers": "text"}
FAILURES, FOREMOST = 5, 12  # files and names in the summary


@dataclass
class Advance:
    """The progress of a job's bar, which never goes back, and the time left in its phase."""

    share: float = 0.0
    phase: str = ""
    pace: TimeLeft = field(default_factory=TimeLeft)


def jobs_panel(knowledge: KnowledgeGraph, top: DeltaGenerator | None = None) -> None:
    """Draw the running and waiting work; polls while there is any.

    Questions for finished work are at the top, else here.
    """
    with knowledge.store() as store:
        waiting = store.queue.open()
        # there is something new to ask about when files were read, not when one was deleted
        busy = any(store.queue.given(job.id) for job in waiting)
    with knowledge.store() as store:  # a damaged file is said by the page, which a fragment cannot
        stale = store.graph.stale
    if exchange(f"busy {knowledge.id}", busy) and not busy:
        session().finished = knowledge.id
    if session().finished == knowledge.id and not busy:
        with top or st.container():
            _summarize(knowledge)
    st.fragment(with_errors_shown(_jobs), run_every=1.0 if waiting else None)(knowledge, bool(waiting), stale)


def _summarize(knowledge: KnowledgeGraph) -> None:
    """Draw the files read and not read, the best connected names, and questions to ask."""
    graph = knowledge.graph
    with knowledge.store() as store:
        last = next((job for job in store.queue.latest() if store.queue.given(job.id)), None)
        names = set(store.queue.given(last.id)) if last is not None else set()
        files = [file for file in store.files.all() if file.name in names]
        questions = questions_of(store, graph)
    failed = [file for file in files if file.status == "failed"]
    with st.container(border=True, key="finished"):
        st.markdown(f":material/check_circle: **{say_read(len(files) - len(failed), len(failed))}**")
        for file in failed[:FAILURES]:
            st.caption(f":material/error: **{brief(file.name)}**: {plain(file.error)}")
        if len(failed) > FAILURES:
            st.caption(f"{count(len(failed) - FAILURES, 'file')} more; the table below says why.")
        if not len(graph):
            return
        foremost = rank_names(graph, FOREMOST)
        held = (f"The graph has {count(graph.count('passage'), 'passage')}, "
                f"{count(graph.count('entity'), 'name')} and {count(graph.edge_count, 'edge')}.")
        about = f" Best connected: {join_words([clean(name, 40) for name in foremost])}." if foremost else ""
        st.caption(plain(held + about))
        if questions:
            st.caption("Ask, for example:")
        for question in questions:
            way("explore", brief(question), q=question)


def _jobs(knowledge: KnowledgeGraph, working: bool, stale: bool) -> None:
    with knowledge.store() as store:
        waiting = store.queue.open()
        orphaned = needs_worker(store, keys())
        foreign = find_foreign(store, keys())
        revision = store.graph.revision
        bars = [(job, *job_bar(knowledge.id, store, job)) for job in waiting]
        last = next(iter(store.queue.latest(1)), None)
    if last is not None and (last.state == "failed" or (last.state == "cancelled" and stale)):
        _offer_to_go_on(knowledge, last)
    if orphaned:
        start(knowledge)
    for job, share, words in bars:
        _draw_job(knowledge, job, share, words, job.id in foreign)
    changed = exchange(f"revision {knowledge.id}", revision) != revision
    if working and (changed or not waiting):
        st.rerun()


def _draw_job(knowledge: KnowledgeGraph, job: Job, share: float, words: str, foreign: bool) -> None:
    """Draw the bar of a job with its cost and buttons; a `foreign` job waits for another person's key."""
    bar, stop = st.columns([6, 1], vertical_alignment="center")
    bar.progress(share, plain(words))
    meter(knowledge, job.id)
    if foreign and job.state == "queued":
        st.caption("This waits for the person who added it, because it is read with their API key.")
    if job.error:
        st.warning(escape_sentence(job.error))
    if job.state == "paused" and stop.button("Resume", key=f"resume{job.id}"):
        start(knowledge)
    if stop.button("Cancel", key=f"cancel{job.id}"):
        with knowledge.store() as store:
            cancel(store, job.id)


@st.cache_resource(max_entries=64, show_spinner=False)
def _advance(workspace: str, job: int) -> Advance:  # noqa: ARG001
    """Return the progress of a job, shared by all sessions."""
    return Advance()


def job_bar(workspace: str, store: Workspace, job: Job) -> tuple[float, str]:
    """Return the finished share of a job, and a text with the current file and the time left.

    Files are parsed while passages are read, and the graph is updated now and then. So the bar
    counts passages, with those that are expected in files not parsed yet.
    """
    advance = _advance(workspace, job.id)
    if job.state in ("queued", "paused") or not job.stage:
        state = {"queued": "waiting to start", "paused": "paused"}.get(job.state, "starting")
        return advance.share, f"{_word_job(store, job)}: {state}"
    phase = READING if job.stage == "parsing" else job.stage
    total = count(job.total, UNITS.get(job.stage, "passage"))
    ahead = estimate_unparsed(store, job.id) if job.stage == READING else 0.0
    if 0 < ahead < float("inf"):
        # two digits: each file that is parsed would change the others
        total = f"about {count(int(float(f'{job.total + ahead:.2g}')), 'passage')}"
    # The graph is made now and then while passages are read.
    if phase == READING or advance.phase != READING or advance.pace.share == 1:
        if advance.phase != phase:
            advance.phase, advance.pace = phase, TimeLeft()
        if job.stage != "parsing":
            advance.pace.note(job.done, job.total + ahead)
        begin, end = PHASES.get(job.stage, (0.0, 1.0))
        advance.share = max(advance.share, begin + (end - begin) * advance.pace.share)
    return advance.share, _word_progress(job, total, say_left(advance.pace.left))


def _word_job(store: Workspace, job: Job) -> str:
    return say_job([clean(name, 80) for name in store.queue.given(job.id)],
                   sorted(store.queue.layers(job.id)))


def _word_progress(job: Job, total: str, left: str) -> str:
    phases = {"parsing": "Opening files", READING: "Reading passages",
              "embedding": "Computing vectors", "assembling": "Making the graph",
              "comparing names": "Comparing names", "building layers": "Building layers"}
    words = f"{phases[job.stage]}: {job.done:,} of {total}"
    return " · ".join(filter(None, [words, clean(job.current, 80), left]))


def _offer_to_go_on(knowledge: KnowledgeGraph, job: Job) -> None:
    """Explain why the last job ended early, and offer to continue."""
    words, button = st.columns([6, 1], vertical_alignment="center")
    words.warning(plain(job.error or "The last job was cancelled before the graph was up to date."))
    if button.button("Go on", key="go_on"):
        with knowledge.store() as store:
            resume(store, job.id, keys())
        start(knowledge)
        st.rerun()
