"""Bundles: the same bytes for the same run, and one sentence for each hostile file."""

import csv
import hashlib
import io
import json
import struct
import zipfile
from dataclasses import replace

import networkx as nx
import pytest
from hostile import STRINGS

from qafd.errors import ParseError
from qafd.flow.verify import FindingKind
from qafd.reasons import given_reason
from qafd.retrieve.base import Retrieval, RetrievedNode
from qafd.runs import bundle
from qafd.runs.bundle import NAMES, bundled, check, opened
from qafd.runs.replay import recorded


@pytest.fixture(scope="module")
def run(apple):
    plan = apple.plan("Introduce Steve Jobs's products in Apple.")
    return recorded(apple, apple.retrieve(plan, mass=12.0), plan, layout={"a": (0.0, 0.5)},
                    note="a note")


@pytest.fixture(scope="module")
def data(run):
    return bundled(run)


def unpacked(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return out.getvalue()


def changed(data, name, content):
    return packed({**unpacked(data), name: content}.items())


def resealed(data, run):
    """The bundle with another run, and a manifest that says so."""
    text = json.dumps(run).encode()
    manifest = json.loads(unpacked(data)["manifest.json"])
    manifest["sha256"]["run.json"] = hashlib.sha256(text).hexdigest()
    return changed(changed(data, "run.json", text), "manifest.json", json.dumps(manifest))


def with_run(data, **fields):
    obj = json.loads(unpacked(data)["run.json"])
    return changed(data, "run.json", json.dumps({**obj, **fields}))


def nested(data, depth):
    obj = json.loads(unpacked(data)["run.json"])
    for _ in range(depth - 1):
        obj["retrieval"]["params"]["mass"] = [obj["retrieval"]["params"]["mass"]]
    return with_run(data, retrieval=obj["retrieval"])


def test_the_same_run_gives_the_same_bytes_also_when_it_went_through_a_file(run, data):
    assert bundled(run) == data
    assert bundled(opened(data)) == data
    assert bundled(replace(run, note="another")) != data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:  # on any day
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_bundle_holds_the_run_its_subgraph_its_passages_and_a_report(run, data):
    files = unpacked(data)
    assert tuple(files) == NAMES
    graph = nx.read_graphml(io.BytesIO(files["graph.graphml"]))
    assert set(graph) == {n.id for n in run.retrieval.nodes}
    rows = list(csv.DictReader(io.StringIO(files["passages.csv"].decode())))
    assert [row["document"] for row in rows] == [p.document for p in run.retrieval.passages]
    assert files["report.md"].startswith(b"# Introduce Steve Jobs's products in Apple.")
    manifest = json.loads(files["manifest.json"])
    assert manifest["workspace"] == run.retrieval.made_by.workspace
    assert (manifest["graph"], manifest["params"]["mass"]) == (run.graph, 12.0)


def test_what_was_changed_in_a_bundle_is_named(data):
    found = check(changed(data, "report.md", "# All is well"))
    assert not found.ok
    assert found.findings[0].values == {"name": "report.md"}


def test_a_forged_run_with_a_forged_manifest_is_still_found_out(data):
    obj = json.loads(unpacked(data)["run.json"])
    obj["retrieval"]["nodes"][0]["mass"] *= 2
    assert not check(resealed(data, obj)).ok


def test_a_plan_of_another_question_is_found_out(data):
    obj = json.loads(unpacked(data)["run.json"])
    obj["plan"]["question"] = "Who forged this?"
    checked = check(resealed(data, obj))
    assert not checked.ok
    assert checked.findings[0].kind is FindingKind.OTHER_QUESTION


def test_hostile_names_come_through_a_bundle_as_they_are(run):
    nodes = tuple(RetrievedNode(f"{i}", s[:500].replace("\ud800", ""), "entity", 1.0, 1.0,
                                "saturated", given_reason(s[:500].replace("\ud800", "")))
                  for i, s in enumerate(STRINGS))
    hostile = replace(run, retrieval=Retrieval("q", "x", {}, (), nodes, ()))
    back = opened(bundled(hostile))
    assert [n.name for n in back.retrieval.nodes] == [
        n.name.encode("utf-8", "replace").decode() for n in nodes]


@pytest.mark.parametrize("lies", [False, True])
def test_a_bomb_is_not_unpacked_even_where_it_lies_about_its_size(data, monkeypatch, lies):
    monkeypatch.setattr(bundle, "LARGEST", 2**20)
    bomb = changed(data, "report.md", b"\0" * 2**24)
    if lies:  # in both headers
        bomb = bomb.replace(struct.pack("<L", 2**24), struct.pack("<L", 5))
    with pytest.raises(ParseError, match=None if lies else "unpacks to more than 1 MB"):
        opened(bomb)


@pytest.mark.parametrize(("make", "sentence"), [
    (lambda _: b"", "no readable bundle"),
    (lambda _: b"PK\3\4 and no more", "no readable bundle"),
    (lambda data: data[:-30], "no readable bundle"),
    (lambda data: data[:200] + b"\xff" * 50 + data[250:], "bundle"),
    (lambda _: packed([("run.json", "{}")]), "no whole bundle of a run: it holds 'run.json'"),
    (lambda data: packed([*unpacked(data).items(), ("../../etc/cron.d/x", "boo")]),
     r"no whole bundle of a run: it holds .*etc/cron.d/x"),
    (lambda data: packed([("/run.json" if n == "run.json" else n, c)
                          for n, c in unpacked(data).items()]), "it holds '/run.json"),
    (lambda data: packed(unpacked(data).items(), zipfile.ZIP_LZMA), "packed in a way"),
    (lambda data: changed(data, "run.json", "nonsense"), "run.json is no JSON"),
    (lambda data: changed(data, "run.json", b"\xff\xfe"), "run.json is no JSON"),
    (lambda data: changed(data, "run.json", "[" * 10**5), "run.json is no JSON"),
    (lambda data: changed(data, "run.json", "9" * 5000), "run.json is no JSON"),
    (lambda _: packed((f"{i}", "") for i in range(101)), "more files than one has"),
    (lambda data: nested(data, 21), "retrieval.params.* nested more than 20 levels"),
    (lambda data: changed(data, "run.json", "[]"), "no run of qafd"),
    (lambda data: changed(data, "run.json", '{"format": "qafd run"}'), "has format None"),
    (lambda data: with_run(data, version=2), "install a newer one"),
    (lambda data: with_run(data, tokens=float("nan")), "holds NaN, which is no number of JSON"),
    (lambda data: with_run(data, tokens=-float("inf")), "holds -Infinity"),
    (lambda data: with_run(data, tokens="many"), "the run.tokens is not a finite number"),
    (lambda data: with_run(data, retrieval={"query": 1}), "the run.retrieval.query is not text"),
], ids=["empty", "magic", "cut", "damaged", "few", "traversal", "absolute", "lzma", "no-json",
        "no-utf8", "deep", "long-number", "many", "nested", "list", "no-version", "newer",
        "nan", "infinity", "type", "retrieval"])
def test_a_file_that_is_no_bundle_is_refused_in_one_sentence(make, sentence, data):
    with pytest.raises(ParseError, match=sentence) as refused:
        check(make(data))
    assert "\n" not in str(refused.value)
