"""The documents to read: a search over all, and one document passage by passage."""

import re
from collections.abc import Sequence

import streamlit as st

from qafd.answer import name_pages
from qafd.app.escaping import brief, escape_sentence, plain, safe
from qafd.app.markup import embolden, in_document, keep_spaces, mark_spans, paragraph, small
from qafd.app.page_images import show_page
from qafd.app.session import in_store, keep, put, value_of
from qafd.curate.files import Excerpt, Passage, around, read_excerpt
from qafd.errors import StoreError
from qafd.knowledge import KnowledgeGraph
from qafd.records import Mark
from qafd.storage.rows import SEARCHED, Head, Hit
from qafd.wording import count

MORE = "found_more"


def search(knowledge: KnowledgeGraph) -> None:
    """Draw a search box, and the matching passages of the linked document or of all."""
    document = st.query_params.get("doc")
    if not len(knowledge.graph):
        return
    words = st.text_input(
        "Search", key="within" if document else keep("search"), bind="query-params",
        icon=":material/search:",
        placeholder="Find words in this document" if document else
        "Find words in the documents",
        label_visibility="collapsed", help="Words in quotation marks are a phrase.") or ""
    if not words.strip():
        return
    # as many more as were asked for, of these words
    asked, more = value_of(MORE, (None, 0))
    many = SEARCHED + (more if asked == (words, document) else 0)
    with knowledge.store() as store:
        found = store.passages.search(words, many, document)
        marks = {name: store.documents.get(name).marks
                 for name in {hit.chunk.document for hit in found.hits}}
    if found.said:
        st.caption(plain(found.said))
    if not found.hits:
        return
    st.html("".join(_hit_html(hit, marks[hit.chunk.document]) for hit in found.hits))
    with st.container(horizontal=True, vertical_alignment="center"):
        passages = count(found.total, "passage")
        if found.total == len(found.hits):
            st.caption(passages)
        else:
            st.caption(f"{passages}, the best {len(found.hits)} of them")
            st.button("More", type="tertiary", on_click=put,
                      args=(MORE, ((words, document), many)))


def _hit_html(hit: Hit, marks: Sequence[Mark]) -> str:
    chunk = hit.chunk
    place = [safe(chunk.document, 120), name_pages(chunk, marks)]
    if chunk.heading != chunk.title:
        place.append(safe(chunk.heading, 120))
    text = "".join(f"<mark>{keep_spaces(part)}</mark>" if on else keep_spaces(part) for part, on in hit.parts)
    title = in_document(chunk.document, chunk.id, words=safe(chunk.title or chunk.document, 120))
    head = f"{embolden(title)} {small(' · '.join(filter(None, place)))}"
    return paragraph(f"{head}<br><span dir='auto'>{text}</span>", "found")


_SPAN = re.compile(r"(\d{1,12})-(\d{1,12})")


def show_document(knowledge: KnowledgeGraph) -> bool:
    """Show the document that the link names; False without one."""
    name = st.query_params.get("doc")
    if not name:
        return False
    st.button("All documents", icon=":material/arrow_back:", type="tertiary",
              on_click=_leave, args=("at", "from", "passage", "doc"))
    with knowledge.store() as store:
        chunk = st.query_params.get("passage", "")
        asked = store.documents.number_of(name, chunk)
        start = st.query_params.get("from", "")
        first = int(start) if start.isdecimal() and len(start) < 9 else around(asked or 1)
        try:
            shown = read_excerpt(store, name, first)
        except StoreError as error:
            st.warning(escape_sentence(error))
            return True
    _head(knowledge, shown.document)
    if chunk and asked is None:
        st.caption("This document has changed and no longer has the linked passage. Here is its beginning.")
    spans = _spans(st.query_params.get_all("at"))
    _way(shown, "top")
    left, right = st.columns([3, 2], gap="medium")
    left.html(_text(shown, asked, spans))
    with right, st.container(key="printed"):
        show_page(knowledge, name, spans)
    _way(shown, "bottom")
    if start or (asked or 0) > 1:
        _scroll(first if start else asked or 1)
    return True


def _leave(*names: str) -> None:
    # each is a step of the browser's history: the last before this page shall show something
    for name in names:
        st.query_params.pop(name, None)


def _head(knowledge: KnowledgeGraph, head: Head) -> None:
    st.header(brief(head.title or head.name), anchor=False)
    said = [brief(head.name), count(head.passages, "passage"),
            *([count(head.pages, "page")] if head.pages else []),
            count(head.characters, "character")]
    st.caption(" · ".join(said) + (" · deleted: not in the graph" if head.deleted_at else ""))
    if head.original:
        st.download_button("Original file", lambda: in_store(
            knowledge, lambda store: store.files.original(head.source) or b""),
                           re.sub(r"[^\w.-]+", "_", head.source)[-80:], on_click="ignore",
                           icon=":material/download:")


def _way(shown: Excerpt, place: str) -> None:
    """Number the shown passages, between buttons to those before and after."""
    many, size = shown.document.passages, len(shown.passages)
    if size == many:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Earlier", icon=":material/arrow_upward:", key=f"earlier {place}",
                  disabled=shown.first == 1, on_click=_begin, args=(max(1, shown.first - size),))
        st.button("Later", icon=":material/arrow_downward:", key=f"later {place}",
                  disabled=shown.last == many, on_click=_begin, args=(shown.last + 1,))
        st.caption(f"Passages {shown.first:,} to {shown.last:,} of {many:,}")


def _begin(first: int) -> None:
    st.query_params["from"] = str(first)


def _scroll(number: int) -> None:
    """Bring a passage into view, once for every place that is gone to."""
    # No text of a document is in it, only a number. What is above can still come or grow after it, so the
    # passage is kept in view for a while, or until somebody moves the page.
    st.html(f"""<script>(() => {{
        const end = performance.now() + 5000, moved = new AbortController();
        for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"])
            addEventListener(kind, () => moved.abort(), {{signal: moved.signal, passive: true}});
        let top = null;
        const keep = () => {{
            const passage = document.getElementById("passage-{int(number)}");
            if (passage && passage.getBoundingClientRect().top !== top) {{
                passage.scrollIntoView({{block: "start"}});
                top = passage.getBoundingClientRect().top;
            }}
            if (performance.now() > end) moved.abort();
            if (!moved.signal.aborted) requestAnimationFrame(keep);
        }};
        keep();
    }})();</script>""", unsafe_allow_javascript=True)


def _spans(texts: Sequence[str]) -> list[tuple[int, int]]:
    found = [_SPAN.fullmatch(text) for text in texts[:20]]
    return [(int(span[1]), int(span[2])) for span in found if span]


def _text(shown: Excerpt, asked: int | None, spans: Sequence[tuple[int, int]]) -> str:
    sections = []
    for passage in shown.passages:
        pages = name_pages(passage.chunk, shown.marks)
        if passage.number == asked:
            sections.append(_section(passage, pages, spans, " class=asked"))
        else:
            sections.append(_section(passage, pages, ()))
    return f"<div class='document'>{''.join(sections)}</div>"


def _section(passage: Passage, pages: str, spans: Sequence[tuple[int, int]], style: str = "") -> str:
    """Draw a passage below its heading, with the sentences of `spans` marked."""
    chunk = passage.chunk
    place = [f"{passage.number:,}", pages]
    if chunk.heading != chunk.title:
        place.append(safe(chunk.heading, 160))
    above = ""
    if passage.above not in ("", chunk.title):
        above = f"<p class='above'>{keep_spaces(passage.above)}</p>"
    text = mark_spans(chunk.text, [(first - chunk.start, last - chunk.start) for first, last in spans])
    return (f"{above}<section id='passage-{passage.number}'{style}>"
            f"<small>{' · '.join(filter(None, place))}</small><p dir='auto'>{text}</p></section>")
