"""A run as one file that can be sent: a zip of settings, subgraph, passages, report and digests.

The same run gives the same bytes. What is read back may come from anybody: nothing is unpacked to
disk, sizes are bounded before and while reading, and every value is checked (`qafd.runs.stored`).
"""

import hashlib
import io
import json
import sys
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass
from typing import Any

from qafd import __version__, export
from qafd.errors import ParseError
from qafd.flow.verify import FindingKind, Verification, build_finding, verify
from qafd.retrieve.base import DRY, SATURATED, WET, Retrieval
from qafd.runs import Run
from qafd.runs.report import report
from qafd.runs.stored import json_of, plain_of, record_of

RUN, GRAPH, PASSAGES, REPORT, MANIFEST = (
    "run.json", "graph.graphml", "passages.csv", "report.md", "manifest.json")
NAMES = (RUN, GRAPH, PASSAGES, REPORT, MANIFEST)
FORMAT, VERSION = "qafd run", 1
LARGEST = 64 * 2**20  # bytes of all files of a bundle, unpacked
NODES_DRAWN, EDGES_DRAWN = 20_000, 100_000  # of a run that the app draws
PASSAGES_DRAWN, WAYS_DRAWN = 2000, 4_000_000  # of it; a way leads through a passage to a neighbor
PARTS = 200  # diffusions of a question, one for each seed
MAGIC = b"PK"  # every zip file begins so
ENTRY, ENTRIES = b"PK\1\2", 100  # what a file in a zip is listed by; some may occur by chance
_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can have


@dataclass(frozen=True, eq=False)
class Examined:
    """A bundle that was read and checked.

    `intact` says that every file is as the manifest states and that the plan asks what the
    retrieval answers; `checked.ok` that beyond this the certificate follows from the numbers,
    which it cannot for a method that gives none.
    """

    run: Run
    intact: bool
    checked: Verification

    @property
    def sound(self) -> bool:
        """Whether a certificate proves the run; without one nothing does."""
        return self.intact and self.checked.ok

    @property
    def keepable(self) -> bool:
        """Whether nothing speaks against the run; there may be nothing to prove."""
        return self.sound or (self.intact and self.run.retrieval.certificate is None)


def bundled(run: Run) -> bytes:
    """The bundle of a run."""
    retrieval = run.retrieval
    files = {
        RUN: json.dumps({"format": FORMAT, "version": VERSION, **plain_of(run),
                         "retrieval": retrieval.to_dict()},
                        ensure_ascii=False, indent=1),
        GRAPH: export.graphml(retrieval), PASSAGES: export.passages_csv(retrieval),
        REPORT: report(run)}
    contents = {name: text.encode("utf-8", "replace") for name, text in files.items()}
    contents[MANIFEST] = json.dumps({
        "format": FORMAT, "version": VERSION, "written_by": f"qafd {__version__}",
        **retrieval.record, "graph": run.graph, "made_at": run.made_at,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()},
    }, ensure_ascii=False, indent=1, default=str).encode("utf-8", "replace")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in contents.items():
            info = zipfile.ZipInfo(name, _TIME)
            info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    return out.getvalue()


def opened(data: bytes) -> Run:
    """The run in a bundle.

    Raises
    ------
    ParseError
        It is no bundle, is damaged or too large, or holds what a bundle does not.
    """
    return _run(_obj(_files(data)))


def check(data: bytes) -> Verification:
    """Check a bundle from its own numbers: digests of its files, and `qafd.flow.verify` of its run.

    Raises
    ------
    ParseError
        As `opened`.
    """
    return examined(data).checked


def examined(data: bytes) -> Examined:
    """The run in a bundle with what `check` finds; raises ParseError as `opened`."""
    files = _files(data)
    obj = _obj(files)
    run = _run(obj)
    manifest = json_of(files[MANIFEST], MANIFEST)
    stated = manifest.get("sha256") if isinstance(manifest, dict) else None
    stated = stated if isinstance(stated, dict) else {}
    wrong = []
    for name in NAMES:
        if name != MANIFEST and stated.get(name) != hashlib.sha256(files[name]).hexdigest():
            wrong.append(build_finding(FindingKind.FILE_CHANGED, name=name))
    if run.plan.question != run.retrieval.query:
        wrong.append(build_finding(FindingKind.OTHER_QUESTION))
    if wrong:
        return Examined(run, False, Verification(False, tuple(wrong)))
    proved = verify(obj["retrieval"])
    return Examined(run, True, Verification(proved.ok, (
        *proved.findings, build_finding(FindingKind.FILES_AS_WRITTEN))))


def check_size(retrieval: Retrieval) -> None:
    """Raise ParseError unless a retrieval, perhaps a stranger's, is small enough to be drawn."""
    nodes, edges = len(retrieval.nodes), len(retrieval.edges)
    if nodes > NODES_DRAWN or edges > EDGES_DRAWN:
        raise ParseError(f"The run has {nodes:,} nodes and {edges:,} edges, and the app draws "
                         f"at most {NODES_DRAWN:,} and {EDGES_DRAWN:,}; 'qafd verify' checks "
                         "it all the same.")
    passages = {node.id for node in retrieval.nodes if node.kind == "passage"}
    ends: Counter[str] = Counter()
    for edge in retrieval.edges:
        ends.update(passages.intersection((edge.source, edge.target)))
    ways = sum(count**2 for count in ends.values())
    if len(passages) > PASSAGES_DRAWN or ways > WAYS_DRAWN:
        raise ParseError(f"The run has {len(passages):,} passages with {ways:,} ways through "
                         f"them, and the app draws at most {PASSAGES_DRAWN:,} with "
                         f"{WAYS_DRAWN:,}; 'qafd verify' checks it all the same.")


def _files(data: bytes) -> dict[str, bytes]:
    if data.count(ENTRY) > ENTRIES:  # each would become an object before one is looked at
        raise ParseError("This is no bundle of a run: it holds more files than one has.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if sorted(info.filename for info in infos) != sorted(NAMES):
                names = ", ".join(info.filename[:80] for info in infos[:len(NAMES) + 1])
                raise ParseError(f"This is no whole bundle of a run: it holds {names!r} "
                                 f"instead of {', '.join(NAMES)}.")
            left, files = LARGEST, {}
            for info in infos:
                if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise ParseError(f"{info.filename} is packed in a way that qafd does not use.")
                with archive.open(info) as file:
                    files[info.filename] = file.read(left + 1)  # stated sizes may lie
                left -= len(files[info.filename])
                if left < 0:
                    raise ParseError(f"The bundle unpacks to more than {LARGEST // 2**20} MB, "
                                     "which no run has; it was not read.")
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
        raise ParseError(f"This is no readable bundle of a run ({str(error)[:80]}); download "
                         "or make it again.") from error
    return files


def _obj(files: dict[str, bytes]) -> dict[str, Any]:
    obj = json_of(files[RUN], RUN)
    if not isinstance(obj, dict) or obj.get("format") != FORMAT:
        raise ParseError(f"{RUN} is no run of qafd.")
    if obj.get("version") != VERSION:
        raise ParseError(("{run} has format {found}, this version of qafd reads {version}; "
                          "install a newer one.").format(
                             run=RUN,
                             found=str(obj.get('version'))[:20],
                             version=VERSION))
    return obj


def _run(obj: dict[str, Any]) -> Run:
    try:
        run: Run = record_of(Run, obj, "the run")
    except RecursionError as error:
        raise ParseError(f"{RUN} is nested too deeply to be a run.") from error
    if len(run.retrieval.parts) > PARTS or any(part.parts for part in run.retrieval.parts):
        raise ParseError(f"The run has {len(run.retrieval.parts)} parts or parts of parts; a "
                         f"question has at most {PARTS} diffusions.")
    for retrieval in (run.retrieval, *run.retrieval.parts):
        _check_shape(retrieval)
    return run


def _check_shape(retrieval: Retrieval) -> None:
    """Raise ParseError unless edges have ends and amounts have square roots and inverses."""
    known = {node.id for node in retrieval.nodes}
    amounts = [node.importance for node in retrieval.nodes]
    for edge in retrieval.edges:
        amounts += [edge.flow, edge.weight]
    if len(known) < len(retrieval.nodes):
        raise ParseError("The run lists a node twice; it was damaged or made by another program.")
    if any(node.state not in (SATURATED, WET, DRY) for node in retrieval.nodes):
        raise ParseError("The run has a node in a state that there is not; it was damaged or made by "
                         "another program.")
    if any(edge.source not in known or edge.target not in known for edge in retrieval.edges):
        raise ParseError("The run has an edge to a node that it does not list; it was damaged or "
                         "made by another program.")
    if any(amount < sys.float_info.min and amount != 0 for amount in amounts):
        raise ParseError("The run has a negative importance, flow or weight, or one too small to "
                         "divide by; it was damaged or made by another program.")
    certificate = retrieval.certificate
    if certificate is not None and not isinstance(certificate.get("optimal"), bool):
        raise ParseError("The run has a certificate that does not say whether it is optimal; it was "
                         "damaged or made by another program.")
