"""The reader of the documents, this machine or a language model: plan, meter and ledger."""

from dataclasses import replace
from urllib.parse import urlsplit

import streamlit as st

from qafd.app.escaping import brief, plain
from qafd.app.pages import way
from qafd.app.provider import allow, keys, preferences, spending
from qafd.app.session import remember
from qafd.app.tables import columns_of, table
from qafd.ingest import plan
from qafd.ingest.jobs import retry, start_worker
from qafd.ingest.reader import ModelChoice, choose, read_choice
from qafd.knowledge import KnowledgeGraph
from qafd.models.address import OPENAI, check_address
from qafd.models.cost import RunPlan
from qafd.storage.rows import Total
from qafd.view.panel import clean
from qafd.wording.documents import say_cap, say_embedding_plan, say_reading_plan, say_readings

BY = ("run", "document", "question", "purpose", "model")


def choice_of(knowledge: KnowledgeGraph) -> ModelChoice:
    """Return the reader of a workspace, at the prices and under the caps of the settings."""
    with knowledge.store() as store:
        return preferences().set_prices(read_choice(store))


def start(knowledge: KnowledgeGraph) -> None:
    """Start a worker with the keys, prices and caps of this session."""
    spending()  # which the worker is told of
    with knowledge.store() as store:
        preferences().hold_for(store)
    start_worker(knowledge.url, keys())


def reading_controls(knowledge: KnowledgeGraph) -> None:
    """Choose the reader; for a model also the types it looks for."""
    now = choice_of(knowledge)
    wanted = preferences()
    model = wanted.model if wanted.provider != "offline" else now.model
    url = wanted.base_url if wanted.provider != "offline" else now.base_url
    with st.expander(f"Read by {_name(now)}"):
        if not model:
            st.caption("Documents are read on this machine, and nothing leaves it. A language "
                        "model describes what it finds, at a price; choose one in Settings.")
            way("settings", "Choose a language model")
            return
        other = ModelChoice(model, url) if now.model != model or now.base_url != url else now
        options = [ModelChoice(), other] if not now.model or other == now else [ModelChoice(), now, other]
        with st.form("reader", border=False):
            at = st.radio("Names and relations are found by", range(len(options)),
                          index=options.index(now) if now in options else 0, key="reader",
                          format_func=lambda i: _name(options[i]))
            types = st.text_input("Entity types", ", ".join(other.types))
            language = st.text_input("Language of descriptions", other.language)
            st.caption("If you change the model, the types or the language, all passages are read again "
                       "once you start below.")
            if st.form_submit_button("Use this"):
                pick = options[at]
                if pick.model:
                    allow(pick.base_url)
                    pick = replace(
                        pick, types=tuple(t.strip() for t in types.split(",") if t.strip()),
                        language=language.strip() or "English")
                with knowledge.store() as store:
                    choose(store, wanted.set_prices(replace(pick, embedder=now.embedder,
                                                        embedder_url=now.embedder_url,
                                                        languages=now.languages)))
                st.rerun()


def _name(choice: ModelChoice) -> str:
    if not choice.model:
        return "this machine (no language model)"
    return f"{brief(choice.model, 60)} at {plain(urlsplit(choice.base_url).netloc)}"


def embedders(now: ModelChoice) -> list[ModelChoice]:
    """Return the choice with each available embedding model: local ones, current, of the settings."""
    wanted = preferences()
    options = [*(replace(now, embedder="", embedder_url=OPENAI, languages=languages)
                 for languages in (False, True)), now]
    if wanted.provider != "offline" and wanted.embed_model:
        options.append(replace(now, embedder=wanted.embed_model, embedder_url=wanted.base_url))
    return list(dict.fromkeys(options))


def embedder_name(choice: ModelChoice) -> str:
    """Name the embedding model of a choice."""
    if not choice.embedder:
        return "100 languages, on this machine" if choice.languages else "English, fast, on this machine"
    return f"{clean(choice.embedder, 60)} at {urlsplit(choice.embedder_url).netloc}"


def use_embedder(knowledge: KnowledgeGraph, choice: ModelChoice) -> None:
    """Let the next run embed as chosen.

    Raises
    ------
    MissingKeyError, ParameterError
        Its address cannot be called.
    """
    if choice.embedder:
        allow(choice.embedder_url)
        check_address(choice.embedder_url, keys().get(choice.embedder_url))
    with knowledge.store() as store:
        choose(store, preferences().set_prices(choice))


def embedding_plan(knowledge: KnowledgeGraph, choice: ModelChoice) -> None:
    """Show the cost of computing all vectors again by an endpoint."""
    if not choice.embedder:
        return
    choice = preferences().set_prices(choice)
    planned = remember("embedding plan", (knowledge.id, knowledge.graph.revision, choice),
                       lambda: plan(knowledge.url, (), replace(choice, model=""), anew=True))
    if planned.embedding is not None:
        st.caption(plain(f"{say_embedding_plan(planned.embedding)} {say_cap(choice.cap)}"))


def plan_card(knowledge: KnowledgeGraph) -> None:
    """Show the cost of reading the rest by endpoints, and the button that starts it."""
    choice = choice_of(knowledge)
    if not choice.model and not choice.embedder:
        return
    with knowledge.store() as store:
        files = [f for f in store.files.all() if f.deleted_at is None]
        doubted = store.log.doubts()
        busy = store.lease.writer is not None or bool(store.queue.open())
        extractor = store.log.extractor
    state = [(file.name, file.status, file.size, file.extracted) for file in files]
    if busy or not files:
        return
    with st.spinner("Estimating what this will cost"):  # it parses all files that wait
        planned: RunPlan = remember(
            "plan", (knowledge.id, state, choice, extractor, len(doubted)),
            lambda: plan(knowledge.url, (), choice))
    waiting = [f.name for f in files if f.status in ("cancelled", "failed") or f.name in doubted]
    vectors = planned.embedding
    if not planned.passages and not waiting and not (vectors and vectors.tokens):
        return
    with st.container(border=True):
        _say_plan(planned, choice)
        if doubted:
            many = sum(map(len, doubted.values()))
            st.caption(f"Also {many:,} passages that the model did not read in full.")
        if st.button("Start reading", type="primary"):
            with knowledge.store() as store:
                retry(store, waiting, keys())
            start(knowledge)
            st.rerun()


def _say_plan(planned: RunPlan, choice: ModelChoice) -> None:
    if choice.model:
        st.markdown(f"**To be read by {_name(choice)}**")
        st.markdown(plain(say_reading_plan(planned)))
    if planned.embedding is not None:
        st.markdown(f"**To be embedded by {plain(embedder_name(choice))}**")
        st.markdown(plain(say_embedding_plan(planned.embedding)))
    st.caption(plain(
        f"{say_cap(choice.cap)} Caps and prices are in Settings; ~ marks estimates."))


def meter(knowledge: KnowledgeGraph, job: int) -> None:
    """Show the cost of a running job so far."""
    with knowledge.store() as store:
        totals = store.ledger.totals("run", f"job {job}")
    for total in totals:
        st.caption(plain(f"{_words(total)} so far"))


def ledger(knowledge: KnowledgeGraph) -> None:
    """Show the cost of models in this workspace, by purpose."""
    with knowledge.store() as store:
        if not store.ledger.totals("model"):
            return
        with st.expander("What language models have cost"):
            by = st.segmented_control("Sum up by", BY, default="run", required=True, key="ledger_by") or "run"
            totals = store.ledger.totals(by)
            other = "questions" if by == "run" else "-"
            rows = [(one.what or other, one.calls, one.tokens_in, one.tokens_out,
                     "~ by qafd" if one.estimated else "by the endpoint",
                     None if one.unpriced else one.cost, round(one.seconds, 1)) for one in totals]
            table(columns_of((by, "calls", "tokens in", "tokens out", "tokens counted", "dollars",
                              "seconds"), rows))
            st.caption("A request for vectors covers many passages. Its cost counts for their document, or "
                       "for none if they are from several.")


def _words(total: Total) -> str:
    about = "~" if total.estimated else ""
    money = "cost unknown" if total.unpriced else f"${total.cost:,.4f}"
    return f"{total.calls:,} calls, {about}{total.tokens_in + total.tokens_out:,} tokens, {money}"


def notices(knowledge: KnowledgeGraph) -> dict[str, str]:
    """Return a notice for each file that the model did not read in full."""
    with knowledge.store() as store:
        doubts = store.log.doubts()
    told = {}
    for name, reasons in doubts.items():
        told[name] = f"{say_readings(reasons)} Retry asks the model again."
    return told
