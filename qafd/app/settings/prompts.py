"""The prompts of the workspace: shown, edited and restored."""

import streamlit as st

from qafd.app.escaping import escape_sentence, plain
from qafd.app.session import empty, fresh_key
from qafd.errors import ParameterError
from qafd.ingest.reader import keep_prompt
from qafd.knowledge import KnowledgeGraph, read_instructions
from qafd.models.instructions import TASKS

READING = "extract"


def prompt_settings(knowledge: KnowledgeGraph) -> None:
    """Draw an editor of the prompts, task by task."""
    with st.expander("Prompts of this workspace"):
        task = st.selectbox("What a model is asked to do", list(TASKS), key="prompt_task",
                            format_func=_name)
        told = read_instructions(knowledge)
        text = st.text_area("Prompt", told.prompt(task), height=320,
                            key=fresh_key(f"prompt {knowledge.id} {task}"))
        st.caption(plain(_say_fields(task)))
        with st.container(horizontal=True):
            saved = st.button("Save the prompt", type="primary", disabled=text == told.prompt(task))
            back = st.button("Back to ours", disabled=task not in told.prompts)
        if saved:
            _keep(knowledge, task, text)
        elif back:
            _keep(knowledge, task, "")
        if task == READING:
            st.caption("With another prompt the passages that a model has read are read again, "
                        "when you start it on Documents.")


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
    try:
        with knowledge.store() as store:
            keep_prompt(store, task, text)
    except ParameterError as error:
        st.error(escape_sentence(error))
        return
    empty(f"prompt {knowledge.id} {task}")
    st.rerun()
