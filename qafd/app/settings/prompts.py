"""The prompts of the workspace: shown, edited, tuned to its documents, and restored."""

import streamlit as st

from qafd.app.escaping import escape_sentence, plain
from qafd.app.provider import language_model
from qafd.app.session import empty, fresh_key, session
from qafd.errors import ModelError, ParameterError
from qafd.ingest.instructions import PromptVersion, keep_prompt, versions_of
from qafd.ingest.tuning import keep_tuned
from qafd.knowledge import KnowledgeGraph, read_instructions, tune_prompt
from qafd.models.instructions import TASKS
from qafd.view.panel import clean

READING = "extract"


def prompt_settings(knowledge: KnowledgeGraph) -> None:
    """Draw an editor of the prompts, task by task."""
    with st.expander("Prompts of this workspace"):
        task = st.selectbox("What a model is asked to do", list(TASKS), key="prompt_task",
                            format_func=_name)
        told = read_instructions(knowledge)
        shown = session().drafted.get((knowledge.id, task), told.prompt(task))
        text = st.text_area("Prompt", shown, key=fresh_key(f"prompt {knowledge.id} {task}"), height=320)
        st.caption(plain(_say_fields(task)))
        with st.container(horizontal=True):
            saved = st.button("Save the prompt", type="primary", disabled=text == told.prompt(task))
            back = st.button("Back to ours", disabled=task not in told.prompts)
            tuned = task == READING and _tune_button(knowledge)
        if saved:
            _keep(knowledge, task, text)
        elif back:
            _keep(knowledge, task, "")
        elif tuned:
            _tune(knowledge)
        if task == READING:
            st.caption("With another prompt the passages that a model has read are read again, "
                        "when you start it on Documents.")
        _versions(knowledge, task)


def _name(task: str) -> str:
    one = TASKS[task]
    return f"{one.label} ({one.source})" if one.source else one.label


def _say_fields(task: str) -> str:
    one = TASKS[task]
    if not one.required + one.optional:
        return "It has no fields."
    fields = ", ".join(f"{{{name}}}" for name in one.required + one.optional)
    needed = ", ".join(f"{{{name}}}" for name in one.required)
    return f"Fields, which are filled when it is sent: {fields}. It needs {needed}."


def _keep(knowledge: KnowledgeGraph, task: str, text: str) -> None:
    tuned = session().tuned
    try:
        with knowledge.store() as store:
            if tuned is not None and text == tuned.prompt:
                keep_tuned(store, tuned)
            else:
                keep_prompt(store, task, text)
    except ParameterError as error:
        st.error(escape_sentence(error))
        return
    _show(knowledge, task, None)


def _show(knowledge: KnowledgeGraph, task: str, text: str | None) -> None:
    """Let the editor begin with a text in the next run, or with the prompt that is kept."""
    drafted = session().drafted
    drafted.pop((knowledge.id, task), None)
    if text is not None:
        drafted[knowledge.id, task] = text
    empty(f"prompt {knowledge.id} {task}")
    st.rerun()


def _tune_button(knowledge: KnowledgeGraph) -> bool:
    with knowledge.store() as store:
        if not store.log.count():
            return False
    return st.button("Tune to these documents", help=("One call: a model is shown passages "
                                                      "from all over the workspace and names "
                                                      "what they are about, the types of "
                                                      "entities, and an example. You see the "
                                                      "prompt before it is kept."))


def _tune(knowledge: KnowledgeGraph) -> None:
    client = language_model(knowledge.url, READING)
    if client is None:
        st.error("No language model is set; choose one above.")
        return
    try:
        with st.spinner("One call"):
            session().tuned = tuned = tune_prompt(knowledge, client)
    except ModelError as error:
        st.error(escape_sentence(error))
        return
    _show(knowledge, READING, tuned.prompt)


def _versions(knowledge: KnowledgeGraph, task: str) -> None:
    """List the earlier versions of a prompt, to go back to."""
    with knowledge.store() as store:
        versions = versions_of(store, task)
    if not versions:
        return
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    chosen: PromptVersion = left.selectbox("Earlier versions", versions, format_func=_version)
    if right.button("Show it above"):
        _show(knowledge, task, chosen.prompt or TASKS[task].prompt)


def _version(one: PromptVersion) -> str:
    return f"{one.since}: {clean(one.prompt, 60) or 'ours'}"
