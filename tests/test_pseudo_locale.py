"""Every text of every page comes from a template: a language that changes all leaves no English."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from clicks import page
from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

from qafd.app.database.chosen import EXAMPLES as DATABASES
from qafd.app.pages import PAGES
from qafd.knowledge import KnowledgeGraph
from qafd.learn.cards import CARDS
from qafd.models.embedder import local_embedder
from qafd.package import assets
from qafd.plan.suggest import questions_of
from qafd.retrieve.qafd import FlowDiffusion
from qafd.runs import keep
from qafd.runs.replay import recorded
from qafd.samples import EXAMPLES, SAMPLES
from qafd.sql.box import read_schema
from qafd.sql.database import Database
from qafd.wording import speaking

SAMPLE = "apple-amazon"
QUESTION = EXAMPLES[SAMPLE][0]
FERRIES = DATABASES["ferries"]
VIEWS: dict[str, tuple[dict[str, str], ...]] = {
    "explore": ({"q": ""}, {"preset": "As in the paper"}, *({"tab": tab} for tab in (
        "Answer", "Why", "Paths", "Passages", "What if", "Contrast", "Table", "Certificate",
        "Code"))),
    "compare": ({"q": ""}, *({"view": tab} for tab in (
        "Differences", "Answers", "Passages", "Overlap", "Numbers", "Conditions", "Table"))),
    "lab": tuple({"experiment": tab} for tab in (
        "Sweep", "Timeline", "Movie", "Gates", "Robustness", "Embeddings", "Guarantees", "Scale")),
    "graph": tuple({"part": tab} for tab in ("Entities", "Map", "Perhaps the same", "Edits")),
    "evaluate": ({"gold": "Write"}, {"gold": "Upload"}),
    "learn": tuple({"card": tab} for tab in ("mass", "gates", "certificate", "guarantee", "conditions")),
    "database": tuple({"dbtab": tab} for tab in ("SQL", "Why", "Schema", "Certificate")),
}
LETTERS = str.maketrans("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                        "àƀçđèƒĝĥìĵķļɱñòþɋŕšţùṽŵẋýžÀƁÇĐÈƑĜĤÌĴĶĻṀÑÒÞɊŔŠŢÙṼŴẊÝŽ")
# Values, tags, icons and code in a template stay as they are.
FIXED = re.compile(r"(\{[^{}]*\}|<[^<>]*>|:material/\w+:|`[^`]*`|\]\([^)]*\))")
# What elements carry besides text: ids, addresses, code, choices of the layout.
SILENT = {"id", "element_id", "icon", "url", "form_id", "key", "js_content", "css_content",
          "html_content", "js_source_path", "css_source_path", "component_name", "query_param_key",
          "page_script_hash", "default_tab_label", "format", "language", "code_text", "config",
          "selection_mode", "mime_type", "theme", "type", "page", "default", "deferred_file_id",
          "set_value", "value", "data", "form_clear_on_submit", "accept", "query_string", "class",
          "raw_values", "raw_value", "styler", "string_formatted_value", "uuid", "mode", "order",
          "ramp", "state", "shape", "width", "spec", "engine"}
NO_WORDS = re.compile(r"<style>.*?</style>|<code.*?</code>|`[^`]*`|\$\$.*?\$\$|\{\w+\}|"
                      r"#[0-9a-f]{6}\b|\b[0-9a-f]{64}\b|:\w+\[|:material/\w+:|“[^”]*…”|[\\\u2060]", re.S)
NAMES = ("QAFD Explorer streamlit numpy scipy networkx sqlite utils spacy onnxruntime pyvis plotly "
         "openai Ollama LM Studio vLLM llama cpp Python SQLite CSV JSON HTML PNG SVG GraphML SQL alpha beta "
         "plain mean hybrid product GEXF")


class Pseudo(Mapping[str, str]):
    """A language that has every template: its letters under accents, within ⟦ and ⟧."""

    def __getitem__(self, template: str) -> str:
        parts = FIXED.split(template)
        parts[::2] = [part.translate(LETTERS) for part in parts[::2]]
        return f"⟦{''.join(parts)}⟧"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 1


def blocks(block: Block) -> Iterator[Message]:
    """The messages of all elements and containers, in the order of the page."""
    for child in block.children.values():
        if child.proto is not None:
            yield child.proto
        if isinstance(child, Block):
            yield from blocks(child)


def strings(message: Message) -> Iterator[str]:
    """All texts that a message carries for people."""
    for spec, value in message.ListFields():
        if spec.name in SILENT:
            continue
        values = value if spec.is_repeated else [value]
        for one in values:
            if isinstance(one, Message):
                yield from strings(one)
            elif isinstance(one, str):
                yield from leaves(one)


def leaves(text: str) -> Iterator[str]:
    """A text, or those in the JSON that it is."""
    try:
        found = json.loads(text)
    except ValueError:
        yield text
        return
    yield from within(found)


def within(found: Any) -> Iterator[str]:
    """The texts in a value of JSON; keys are no texts."""
    if isinstance(found, str):
        yield found
    elif isinstance(found, list):
        for one in found:
            yield from within(one)
    elif isinstance(found, dict):
        for key, one in found.items():
            if key not in SILENT:
                yield from within(one)


def texts(app: AppTest) -> Iterator[str]:
    """All texts of a page: those of its elements and the cells of its tables."""
    for message in blocks(app._tree):
        yield from strings(message)
    for frame in app.dataframe:
        columns = json.loads(frame.proto.columns or "{}")
        yield from (str(name) for name in frame.value.columns
                    if "label" not in columns.get(str(name), {}))
        for name in frame.value.columns:
            yield from (cell for cell in frame.value[name] if isinstance(cell, str))


def words(text: str) -> str:
    """The words of a text, small, with one space before, between and after them."""
    return f" {' '.join(re.findall('[A-Za-z]{2,}', text)).lower()} "


def escaped(app: AppTest, data: str) -> list[str]:
    """Texts of a page in which English stands that is neither of a template nor of the data."""
    found = []
    for text in texts(app):
        text = NO_WORDS.sub("", text)
        pieces = re.split(r"<[^>]*>|[⟦⟧·,:;=→–—|()“”\"\n¶…/]|\d+|[^\x00-\x7f]+", text)
        if any(words(piece).strip() and words(piece) not in data for piece in pieces):
            found.append(text[:300])
    return list(dict.fromkeys(found))


@pytest.fixture
def pseudo(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home whose pages speak the pseudo language."""
    monkeypatch.setattr("qafd.app.language.catalog", Pseudo)
    return home


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The words of names, passages and questions of the sample."""
    knowledge = KnowledgeGraph.sample(SAMPLE, tmp_path_factory.mktemp("home"))
    with knowledge.store() as store:
        made_by = [store.log.extractor, store.vectors.embedder[0]]
        asked = questions_of(store, knowledge.graph)
        labels = {edge.label for edge in store.graph.edges(knowledge.graph.ids)}
        documents = [store.documents.get(file.name) for file in store.files.all()]
    knowledge.build_layers(["communities"])
    reports = knowledge.corpus().layer("communities")
    file = assets() / "samples" / "ferries.sqlite"
    database = Database.open(file, local_embedder())
    columns = database.run(database.ask(FERRIES[0]).draft.sql).columns  # of the rows beside the picture
    ferries = read_schema(file)
    schema = [part for table in ferries.tables for column in table.columns
              for part in (table.name, column.label, column.type, *column.values)]
    toys = [name for card in CARDS for name in card.toy.names]
    for some in EXAMPLES.values():
        asked = (*asked, *some)
    texts = [*made_by, *SAMPLES, *toys, *asked, *labels, *schema, *columns, *FERRIES, NAMES, "empty", "en",
             *knowledge.graph.names, *knowledge.graph.ids,
             *reports.titles, *reports.texts,  # made of names and sentences, and kept
             *(document.text for document in documents),
             *(document.name for document in documents),
             *(f"Summary of {document.title}" for document in documents)]
    return words("\n".join(texts))


@pytest.fixture
def data(pseudo: Path, known: str) -> str:
    """The words of the sample and of the place of its workspace."""
    return known + words(str(pseudo))


@pytest.mark.parametrize("name", PAGES)
def test_no_english_is_left_on_a_page(name: str, pseudo: Path, data: str) -> None:
    KnowledgeGraph.open(pseudo / "empty.db")
    found = escaped(page(name, ws="empty", q=QUESTION), data)
    for query in VIEWS.get(name, ({},)):
        found += escaped(page(name, **{"ws": SAMPLE, "q": QUESTION, **query}), data)
    assert not found, "\n".join(dict.fromkeys(found))


@pytest.mark.parametrize("many", [1, 2])
def test_no_english_is_left_of_kept_runs(many: int, pseudo: Path, data: str) -> None:
    knowledge = KnowledgeGraph.sample(SAMPLE, pseudo)
    plan = knowledge.plan(QUESTION)
    with speaking(Pseudo()), knowledge.store() as store:
        keys = [keep(store, recorded(knowledge, knowledge.retrieve(plan, FlowDiffusion(mass=mass)), plan))
                for mass in (6.0, 30.0)[:many]]
    found = escaped(page("runs", ws=SAMPLE, run=keys), data)
    assert not found, "\n".join(found)
