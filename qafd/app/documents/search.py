"""The search over the documents of a workspace, or one of them."""

from collections.abc import Sequence

import streamlit as st

from qafd.answer import name_pages
from qafd.app.escaping import plain, safe
from qafd.app.links import in_document
from qafd.app.markup import embolden, keep_spaces, paragraph, small
from qafd.app.session import keep, put, value_of
from qafd.knowledge import KnowledgeGraph
from qafd.records import Mark
from qafd.storage.rows import SEARCHED, Hit
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
