"""The questions that the Evaluate page measures with: bundled, uploaded, or written there."""

import streamlit as st

from qafd.app.escaping import brief
from qafd.app.session import choose_option, forget, session, value_of
from qafd.app.tables import columns_of, download, table
from qafd.errors import ParameterError
from qafd.evaluate.collection import gold_documents, save_questions, saved_questions
from qafd.evaluate.gold import TEMPLATE, Question, QuestionSet, read_questions, to_jsonl
from qafd.knowledge import KnowledgeGraph
from qafd.resources import assets
from qafd.samples import SAMPLES

BUNDLED, UPLOADED, WRITTEN = "Bundled", "Upload", "Write"


def question_set(knowledge: KnowledgeGraph) -> QuestionSet | None:
    """Return questions of the sample, of a file, or written here; None if there are none.
    """
    bundled = bundled_questions(knowledge)
    choices = [BUNDLED, UPLOADED, WRITTEN] if bundled else [UPLOADED, WRITTEN]
    if value_of("gold", None) not in (None, *choices):
        forget("gold")
    source = choose_option(
        "Questions", choices, "gold", BUNDLED if bundled else WRITTEN,
        help=("A question comes with its gold: the documents that a good answer needs, and "
              "where they are stated the nodes."))
    if source == BUNDLED:
        return bundled
    return _upload(knowledge) if source == UPLOADED else _write_questions(knowledge)


def with_gold(knowledge: KnowledgeGraph, text: str) -> Question | None:
    """Return the question of this text with its gold, if it is written, uploaded or bundled here."""
    bundled = bundled_questions(knowledge)
    uploaded = session().gold_files.get(knowledge.id)
    known = list(saved_questions(knowledge))
    if uploaded:
        known += read_questions(uploaded[1], uploaded[0]).questions
    if bundled:
        known += bundled.questions
    return next((one for one in known if _fold_text(one.text) == _fold_text(text)), None)


def needed_documents(knowledge: KnowledgeGraph, question: str) -> frozenset[str]:
    """Return the documents that a question is known to need; empty if unknown."""
    asked = with_gold(knowledge, question)
    if asked is None:
        return frozenset()
    try:
        known, _ = gold_documents(knowledge, [asked])
    except ParameterError:
        return frozenset()
    return frozenset().union(*known.values())


def _fold_text(text: str) -> str:
    return " ".join(text.casefold().split())


def bundled_questions(knowledge: KnowledgeGraph) -> QuestionSet | None:
    """Return the questions of a sample."""
    path = assets() / "samples" / f"{knowledge.name}.questions.jsonl"
    if knowledge.name not in SAMPLES or not path.exists():
        return None
    return read_questions(path.read_bytes(), path.name)


def _upload(knowledge: KnowledgeGraph) -> QuestionSet | None:
    """Read questions from a file, which the session keeps for its workspace."""
    files = session().gold_files
    if knowledge.id in files:
        name, content = files[knowledge.id]
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"From {brief(name)}", width="content")
            if st.button("Remove the file"):
                del files[knowledge.id]
                st.rerun()
        return read_questions(content, name)
    upload = st.file_uploader(
        "JSON or JSON lines: question, gold (titles or names of documents), answer, nodes",
        ["json", "jsonl"])
    download("Template", lambda: TEMPLATE, "questions.jsonl", "application/jsonl")
    if upload is not None:
        asked = read_questions(upload.getvalue(), upload.name)
        if asked.passages:
            raise ParameterError(f"{upload.name} has its own {len(asked.passages):,} passages; measure it "
                                 "with 'qafd eval retrieval --questions FILE --db NEW.db', then open "
                                 "NEW.db here")
        files[knowledge.id] = upload.name, upload.getvalue()
        st.rerun()
    return None


def _write_questions(knowledge: KnowledgeGraph) -> QuestionSet | None:
    """Draw the form for questions, which are saved in the workspace."""
    saved = saved_questions(knowledge)
    with knowledge.store() as store:
        titles = list(dict.fromkeys(row.title or row.name for row in store.documents.all()
                                    if row.deleted_at is None))
    with st.form("write_gold", clear_on_submit=True):
        text = st.text_input("Question")
        gold = st.multiselect("Documents that answer it", titles)
        answer = st.text_input("Answer, if known", help="Other accepted answers after |")
        if st.form_submit_button("Add the question", type="primary"):
            if not text.strip() or not gold:
                st.warning("A question needs a text and at least one document that answers it.")
            else:
                numbers = [int(one.id) for one in saved if one.id.isdecimal()]
                question = Question(str(max(numbers, default=0) + 1), text.strip(), tuple(gold),
                                    _split_names(answer))
                save_questions(knowledge, [*saved, question])
                st.rerun()
    if not saved:
        st.caption("Write questions about your own documents, each with the documents that a "
                    "good answer needs; ten or more tell methods apart.")
        return None
    event = table(
        columns_of(("question", "documents", "answer"), [
            (one.text, *map(" | ".join, (one.gold, one.answers))) for one in saved]),
        on_select="rerun", selection_mode="multi-row", key="written")
    chosen = event["selection"]["rows"]
    with st.container(horizontal=True):
        if st.button("Remove", disabled=not chosen, help="The chosen rows"):
            save_questions(knowledge, [one for row, one in enumerate(saved) if row not in chosen])
            st.rerun()
        download("Download the questions", lambda: to_jsonl(saved), "questions.jsonl",
                 "application/jsonl")
    return QuestionSet(saved)


def _split_names(typed: str) -> tuple[str, ...]:
    """Return the texts between "|", each once."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, typed.split("|")))))
