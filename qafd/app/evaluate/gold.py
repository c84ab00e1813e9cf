"""The questions that the Evaluate page measures with: bundled, uploaded, or written there."""

import streamlit as st

from qafd.app.escaping import plain
from qafd.app.session import forget, keep, session, value_of
from qafd.errors import ParameterError
from qafd.evaluate.collection import save_questions, saved_questions
from qafd.evaluate.gold import TEMPLATE, Question, QuestionSet, read_questions, to_jsonl
from qafd.knowledge import KnowledgeGraph
from qafd.package import assets
from qafd.samples import SAMPLES
from qafd.view.panel import clean
from qafd.wording import say

BUNDLED, UPLOADED, WRITTEN = "Bundled", "Upload", "Write"


def question_set(knowledge: KnowledgeGraph) -> QuestionSet | None:
    """Questions that come with the sample, from a file, or written here; None while there are none.
    """
    bundled = _bundled(knowledge)
    choices = [*([BUNDLED] if bundled else []), UPLOADED, WRITTEN]
    if value_of("gold", None) not in (None, *choices):
        forget("gold")
    source = st.segmented_control(
        say("Questions"), choices, default=BUNDLED if bundled else WRITTEN, required=True,
        key=keep("gold"), bind="query-params",
        help=say("A question comes with its gold: the documents that a good answer needs, and where "
            "they are stated the nodes."))
    if source == BUNDLED:
        return bundled
    return _uploaded(knowledge) if source == UPLOADED else _written(knowledge)


def with_gold(knowledge: KnowledgeGraph, text: str) -> Question | None:
    """The question of this text with its gold, if it is written, uploaded or bundled here."""
    bundled = _bundled(knowledge)
    uploaded = session().gold_files.get(knowledge.path)
    known = [*saved_questions(knowledge),
             *(read_questions(uploaded[1], uploaded[0]).questions if uploaded else ()),
             *(bundled.questions if bundled else ())]
    return next((q for q in known if _folded(q.text) == _folded(text)), None)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _bundled(knowledge: KnowledgeGraph) -> QuestionSet | None:
    """The questions that come with a sample."""
    path = assets() / "samples" / f"{knowledge.path.stem}.questions.jsonl"
    if knowledge.path.stem not in SAMPLES or not path.exists():
        return None
    return read_questions(path.read_bytes(), path.name)


def _uploaded(knowledge: KnowledgeGraph) -> QuestionSet | None:
    """Questions from a file, which the session keeps for its workspace."""
    files = session().gold_files
    if knowledge.path in files:
        name, content = files[knowledge.path]
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(say("From {name}", name=plain(clean(name, 120))), width="content")
            if st.button(say("Remove the file")):
                del files[knowledge.path]
                st.rerun()
        return read_questions(content, name)
    upload = st.file_uploader(
        say("JSON or JSON lines: question, gold (titles or names of documents), answer, nodes"),
        ["json", "jsonl"])
    st.download_button(say("Template"), TEMPLATE, "questions.jsonl", "application/jsonl",
                       on_click="ignore", icon=":material/download:")
    if upload is not None:
        asked = read_questions(upload.getvalue(), upload.name)
        if asked.passages:
            raise ParameterError(
                f"{upload.name} brings its own {len(asked.passages):,} passages along; measure it "
                "with 'qafd eval retrieval --questions FILE --db NEW.db', then open NEW.db here")
        files[knowledge.path] = upload.name, upload.getvalue()
        st.rerun()
    return None


def _written(knowledge: KnowledgeGraph) -> QuestionSet | None:
    """Questions written one by one; they are kept in the workspace."""
    saved = saved_questions(knowledge)
    with knowledge.store() as store:
        titles = list(dict.fromkeys(row.title or row.name for row in store.documents.all()
                                    if row.deleted_at is None))
    with st.form("write_gold", clear_on_submit=True):
        text = st.text_input(say("Question"))
        gold = st.multiselect(say("Documents that answer it"), titles)
        answer = st.text_input(say("Answer, if known"), help=say("Other accepted answers after |"))
        nodes = st.text_input(say("Names of nodes that matter, if known"), help=say("Entities that a good "
                                  "subgraph has; several with | between them"))
        if st.form_submit_button(say("Add the question"), type="primary"):
            if not text.strip() or not gold:
                st.warning(say("A question needs a text and at least one document that answers it."))
            else:
                known, named = (tuple(dict.fromkeys(filter(None, map(str.strip, typed.split(
                    "|"))))) for typed in (answer, nodes))
                number = str(max((int(q.id) for q in saved if q.id.isdecimal()), default=0) + 1)
                save_questions(knowledge, [*saved, Question(
                    number, text.strip(), tuple(gold), known, named)])
                st.rerun()
    if not saved:
        st.caption(say("Write questions about your own documents, each with the documents that a good "
                       "answer needs; ten or more tell methods apart."))
        return None
    event = st.dataframe(
        [{"question": clean(q.text, 300), "documents": [clean(name, 160) for name in q.gold],
          "answer": clean(" | ".join(q.answers), 300),
          "nodes": clean(" | ".join(q.nodes), 300)} for q in saved],
        hide_index=True, on_select="rerun", selection_mode="multi-row", key="written")
    chosen = event["selection"]["rows"]
    with st.container(horizontal=True):
        if st.button(say("Remove"), disabled=not chosen, help=say("The chosen rows")):
            save_questions(knowledge, [q for i, q in enumerate(saved) if i not in chosen])
            st.rerun()
        st.download_button(say("Download the questions"), lambda: to_jsonl(saved), "questions.jsonl",
                           "application/jsonl", on_click="ignore", icon=":material/download:")
    return QuestionSet(saved)
