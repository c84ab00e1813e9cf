"""Names and relations that a language model extracted, and their weights."""

import pytest

from qafd.curate.entities import entity
from qafd.ingest import index
from qafd.ingest.llm_extract import ModelExtractor
from qafd.knowledge import KnowledgeGraph, read_corpus
from qafd.models import Reply
from qafd.models.prompts import DONE, FIELD, RECORD
from qafd.reading.names import LocalExtractor
from qafd.reading.text.bm25 import stem
from qafd.records import node_id
from qafd.retrieve.evidence import EvidenceIndex
from qafd.retrieve.qafd import LAYERS, FlowDiffusion

TEXT = "Ada Brenner founded the Lindau Mill with Karl Voss."
SMALL = "Ada Brenner ran the old salt works."
MORE = "Karl Voss later left the Lindau Mill to Ida Horn."


class Says:
    """A model that relates the same names in every passage that has both."""

    name = "m"

    def complete(self, *_, **__):
        relations = [("Ada Brenner", "Lindau Mill", 10), ("Karl Voss", "Lindau Mill", 5),
                     ("Ida Horn", "Lindau Mill", 5)]
        names = ["Ada Brenner", "Lindau Mill", "Karl Voss", "Ida Horn", "salt works"]
        lines = [f'("entity"{FIELD}{name}{FIELD}person{FIELD}x)' for name in names]
        lines += [f'("relationship"{FIELD}{u}{FIELD}{v}{FIELD}x{FIELD}ran{FIELD}{strength})'
                  for u, v, strength in relations]
        return Reply(f"{RECORD}\n".join(lines) + DONE, 1, 1)


class Reader:
    """Reads with `Says` over the local reading."""

    def __init__(self):
        self._local, self._model = LocalExtractor(), ModelExtractor(Says())
        self.name = self._model.name

    def extract_all(self, chunks):
        chunks = list(chunks)
        for chunk, local in zip(chunks, self._local.extract_all(chunks), strict=True):
            yield self._model.read(chunk, local).extraction


def read(path, reader, *texts):
    index(path, [(f"{number}.txt", text.encode()) for number, text in enumerate(texts)],
          extractor=reader, processes=1)
    return KnowledgeGraph.open(path)


def weights(knowledge, kind):
    with knowledge.store() as store:
        nodes = store.graph.nodes(knowledge.graph.ids)
        return {frozenset((nodes[edge.source].name, nodes[edge.target].name)): edge.similarity
                for edge in store.graph.edges(knowledge.graph.ids) if edge.kind == kind}


def test_strength_widens_a_relation_that_a_model_extracted(tmp_path):
    knowledge = read(tmp_path / "model.db", Reader, TEXT)
    said, graph = weights(knowledge, "relation"), knowledge.graph
    near = {name: graph.name_vectors[row] for row, name in enumerate(graph.names)}
    for name, strength in (("Ada Brenner", 10), ("Karl Voss", 5)):  # 10 of 10 is twice as wide as 5
        assert said[frozenset((name, "Lindau Mill"))] == pytest.approx(
            strength / 5 * float(near[name] @ near["Lindau Mill"]), rel=1e-4)


def names_joined(knowledge):
    """Return the names that join passages in the default diffusion."""
    layer = knowledge.graph.layer(*LAYERS["passages"])
    return {name for row, name in enumerate(layer.names)
            if layer.kinds[row] == "entity" and layer.degree[row]}


def test_a_name_of_the_model_alone_joins_passages_from_the_second_on(tmp_path):
    alone = read(tmp_path / "one.db", Reader, SMALL)
    twice = read(tmp_path / "two.db", Reader, SMALL, MORE + " They ran the old salt works.")
    rules = read(tmp_path / "rules.db", LocalExtractor, SMALL)
    assert "salt works" in alone.graph.names
    assert names_joined(alone) == names_joined(rules) == {"Ada Brenner"}
    assert "salt works" in names_joined(twice)


def test_what_only_a_model_takes_for_a_name_is_a_tenth_as_wide(tmp_path):
    """Without a model such words are a term, or nothing."""
    knowledge = read(tmp_path / "model.db", Reader, SMALL)
    graph = knowledge.graph
    said = weights(knowledge, "mention")
    rows = {name: row for row, name in enumerate(graph.names)}
    passage = next(name for row, name in enumerate(graph.names) if graph.kinds[row] == "passage")
    text = graph.vectors[rows[passage]]
    for name, factor in (("Ada Brenner", 1.0), ("salt works", 0.1)):
        assert said[frozenset((name, passage))] == pytest.approx(
            factor * float(graph.name_vectors[rows[name]] @ text), rel=1e-3)
    with knowledge.store() as store:
        assert entity(store, "salt works").type == "PERSON"


def test_no_mass_runs_along_extracted_relations_between_passages(tmp_path):
    found = read(tmp_path / "model.db", Reader, TEXT).retrieve(
        "Who is Ada Brenner?", FlowDiffusion(mass=4.0, seeds=0))
    kinds = {node.id: node.kind for node in found.nodes}
    assert all({kinds[edge.source], kinds[edge.target]} != {"entity"} for edge in found.edges)


def test_a_change_makes_the_same_graph_as_reading_all_at_once(tmp_path):
    grown = read(tmp_path / "grown.db", Reader, *[TEXT] * 6)
    index(tmp_path / "grown.db", [("more.txt", MORE.encode())], extractor=Reader, processes=1)
    whole = tmp_path / "whole.db"
    index(whole, [*((f"{i}.txt", TEXT.encode()) for i in range(6)), ("more.txt", MORE.encode())],
          extractor=Reader, processes=1)
    with grown.store() as store, KnowledgeGraph.open(whole).store() as other:
        assert store.graph.digest() == other.graph.digest()


@pytest.mark.parametrize(("reader", "text", "fit"), [
    (Reader, "Later the Lindau Mill burned.", 1.0), (LocalExtractor, "", 0.0)], ids=["model", "rules"])
def test_a_relation_of_names_in_two_sentences_is_shown_by_the_one_that_fits(
        tmp_path, reader, text, fit):
    knowledge = read(tmp_path / "a.db", reader, "Ada Brenner left in May. Later the Lindau Mill burned.")
    knowledge.build_layers(["sentences"])
    graph = knowledge.graph
    ends = [graph.row[node_id("entity", key)] for key in ("ada brenner", "lindau mill")]
    evidence = EvidenceIndex(graph, read_corpus(knowledge, graph, ("sentences",)).layer("sentences"))
    found = evidence.show(*ends, frozenset({stem("burned")}))
    assert (found.text, found.fit) == (text, fit)


def test_the_report_of_a_community_has_what_the_model_says_of_its_members(tmp_path):
    knowledge = read(tmp_path / "a.db", Reader, TEXT)
    knowledge.build_layers(["communities"])
    report = read_corpus(knowledge, knowledge.graph, ("communities",)).layer("communities").texts[0]
    assert all(f"{name}: x" in report for name in ("Ada Brenner", "Lindau Mill", "Karl Voss"))
