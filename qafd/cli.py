"""The command line: stdout is data, stderr is messages.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing found.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qafd import __version__
from qafd.errors import ParameterError, QafdError
from qafd.plaintext import one_line

if TYPE_CHECKING:
    from qafd.knowledge import KnowledgeGraph
    from qafd.retrieve.base import Retrieval

DONE, FAILED, USAGE, NOTHING_FOUND = 0, 1, 2, 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except ParameterError as error:
        print(f"qafd: {error}", file=sys.stderr)
        return USAGE
    except QafdError as error:
        print(f"qafd: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="qafd", description="See why a graph-based RAG system retrieved what it retrieved.")
    parser.add_argument("--version", action="version", version=f"qafd {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], summary: str,
                *, db: bool = True, as_json: bool = True) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=summary, description=summary)
        added.set_defaults(run=run)
        if db:
            added.add_argument("--db", type=Path, default=os.environ.get("QAFD_DB"),
                               help="the workspace file (default: $QAFD_DB)")
        if as_json:
            added.add_argument("--json", action="store_true", help="print one JSON object")
        return added

    for name, summary in (("demo", "start the app on its sample"), ("app", "start the app")):
        app = command(name, _app, summary, db=name == "app", as_json=False)
        if name == "demo":
            app.set_defaults(db=None)
        app.add_argument("--port", type=int, default=os.environ.get("PORT", "8501"))
        app.add_argument("--host", default="127.0.0.1")
        app.add_argument("--i-know", action="store_true",
                         help="allow a public host although the app has no login")

    index = command("index", _index, "add files and folders, and build their graph")
    index.add_argument("files", nargs="*", help="files or folders; '-' reads text from stdin")
    index.add_argument("--rebuild", action="store_true",
                       help="make the graph anew from what was extracted")
    index.add_argument("--re-embed", action="store_true",
                       help="compute all vectors anew, with the model of this installation")
    index.add_argument("--name", default="stdin.txt", help="the name of a document from stdin")

    command("status", _status, "count what the workspace holds")
    docs = command("docs", _docs, "list, delete or restore documents")
    docs.add_argument("--delete", metavar="NAME", action="append", default=[])
    docs.add_argument("--undo", metavar="NAME", action="append", default=[])

    query = command("query", _query, "retrieve the subgraph and passages for a question")
    query.add_argument("question", help="the question; '-' reads it from stdin")
    query.add_argument("--method", default="qafd")
    query.add_argument("--preset", choices=("best", "paper"), default="best")
    _add_knobs(query)

    export = command("export", _export, "write a retrieval as a file", as_json=False)
    export.add_argument("question", help="the question; '-' reads it from stdin")
    export.add_argument("--format", required=True,
                        choices=("json", "graphml", "nodes.csv", "edges.csv", "html"))
    export.add_argument("--out", type=Path, help="the file to write (default: stdout)")
    export.add_argument("--method", default="qafd")
    export.add_argument("--preset", choices=("best", "paper"), default="best")
    _add_knobs(export)

    verify = command("verify", _verify, "re-check the certificate of a stored query", db=False)
    verify.add_argument("file", help="what 'qafd query --json' printed; '-' reads stdin")

    doctor = command("doctor", _doctor, "check this installation and a workspace")
    doctor.add_argument("--quick", action="store_true", help="installation only")
    doctor.add_argument("--deep", action="store_true", help="recompute the graph from its log")

    backup = command("backup", _backup, "copy the workspace safely while it is in use")
    backup.add_argument("to", type=Path)
    return parser


def _add_knobs(parser: argparse.ArgumentParser) -> None:
    """One option per parameter of the retrieval method, with its range as help."""
    from qafd.retrieve.qafd import FlowDiffusion

    for spec in fields(FlowDiffusion):
        meta = spec.metadata
        kind: type = type(spec.default)
        parser.add_argument(
            "--" + spec.name.replace("_", "-"), dest="knob_" + spec.name, default=None,
            choices=meta["options"] or None, help=meta["help"].replace("%", "%%"), type=kind)


def _knobs(arguments: argparse.Namespace) -> dict[str, Any]:
    return {name.removeprefix("knob_"): value for name, value in vars(arguments).items()
            if name.startswith("knob_") and value is not None}


def _print_json(value: Any) -> None:
    json.dump(value, sys.stdout, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def _open(arguments: argparse.Namespace) -> "KnowledgeGraph":
    from qafd.knowledge import KnowledgeGraph

    if arguments.db is None:
        raise ParameterError("no workspace is named; add --db FILE or set QAFD_DB")
    path = Path(arguments.db)
    if not path.exists():
        raise ParameterError(f"there is no workspace at {path}; 'qafd index FILE --db {path}' "
                             "makes one")
    return KnowledgeGraph.open(path)


def _text(argument: str) -> str:
    return sys.stdin.read() if argument == "-" else argument


def _app(arguments: argparse.Namespace) -> int:
    """Start Streamlit in this process's place, on loopback unless a public host is insisted on."""
    from qafd.package import app_file

    if arguments.host not in ("127.0.0.1", "localhost", "::1") and not arguments.i_know:
        raise ParameterError(
            f"{arguments.host} can be reached by others and the app has no login; put it behind "
            "a proxy that asks for one, or add --i-know")
    script = app_file()
    os.environ.pop("QAFD_DB", None)
    if arguments.db is not None:
        os.environ["QAFD_DB"] = str(Path(arguments.db).absolute())
    print(f"QAFD Explorer: http://{arguments.host}:{arguments.port}", file=sys.stderr, flush=True)
    os.chdir(script.parent)  # where Streamlit looks for its configuration
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(script.parent), os.environ.get("PYTHONPATH")]))
    os.execv(sys.executable, [
        sys.executable, "-P", "-m", "qafd.ui.serve", str(script),
        "--server.port", str(arguments.port), "--server.address", arguments.host])


def _index(arguments: argparse.Namespace) -> int:
    from qafd.index import Progress, index
    from qafd.knowledge import files_below

    if arguments.db is None:
        raise ParameterError("no workspace is named; add --db FILE or set QAFD_DB")
    path = Path(arguments.db)
    sources = ([(arguments.name, sys.stdin.buffer.read())] if arguments.files == ["-"]
               else files_below(arguments.files))
    stopped = False

    def interrupted(*_: object) -> None:
        nonlocal stopped
        stopped = True
        print("\nqafd: stopping after the passages at work; run the command again to go on",
              file=sys.stderr)

    def show(progress: Progress) -> None:
        if sys.stderr.isatty():
            print(f"\r{progress.stage} {progress.done}/{progress.total} "
                  f"{one_line(progress.current, 40):40}", end="", file=sys.stderr, flush=True)

    signal.signal(signal.SIGINT, interrupted)
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    if arguments.rebuild or arguments.re_embed:
        with _open(arguments).store() as store:
            if arguments.re_embed:
                store.forget_embedder()
            store.drop_graph()
    worked_on = set(index(path, sources, progress=show, stopped=lambda: stopped))
    if sys.stderr.isatty():
        print(file=sys.stderr)
    with _open(arguments).store() as store:
        failed = [f for f in store.files() if f.status == "failed" and f.name in worked_on]
    for file in failed:
        print(f"qafd: {one_line(file.name, 200)}: {file.error}", file=sys.stderr)
    _status(arguments)
    return FAILED if failed or stopped else DONE


def _status(arguments: argparse.Namespace) -> int:
    knowledge = _open(arguments)
    graph = knowledge.graph
    with knowledge.store() as store:
        files = [f for f in store.files() if f.deleted_at is None]
        counts = {
            "files": len(files), "failed": sum(f.status == "failed" for f in files),
            "documents": sum(f.documents for f in files),
            "passages": int((graph.kinds == "passage").sum()),
            "entities": int((graph.kinds == "entity").sum()), "edges": graph.edge_count,
            "revision": graph.revision, "digest": store.digest()}
    if arguments.json:
        _print_json(counts)
    else:
        for name, value in counts.items():
            print(f"{name:10} {value}")
    return DONE


def _docs(arguments: argparse.Namespace) -> int:
    from qafd.index import refresh

    knowledge = _open(arguments)
    if arguments.delete or arguments.undo:
        with knowledge.store() as store:
            for name in arguments.delete:
                store.delete(name)
            for name in arguments.undo:
                store.undo(name)
        refresh(knowledge.path)
    with knowledge.store() as store:
        files = store.files()
    if arguments.json:
        _print_json([asdict(file) for file in files])
    else:
        for file in files:
            state = "deleted" if file.deleted_at else file.status
            print(f"{state:10} {file.passages:5} passages  {one_line(file.name, 200)}  "
                  f"{file.error}".rstrip())
    return DONE if files else NOTHING_FOUND


def _retrieve(arguments: argparse.Namespace) -> "Retrieval":
    from qafd.retrieve import METHODS
    from qafd.retrieve.qafd import PRESETS

    if arguments.method not in METHODS:
        raise ParameterError(f"there is no method {arguments.method!r}; "
                             f"choose {', '.join(METHODS)}")
    knowledge = _open(arguments)
    knobs = _knobs(arguments)
    method: Any = (PRESETS[arguments.preset].method if arguments.method == "qafd"
                   else METHODS[arguments.method]())
    method = replace(method, **knobs)
    if "mass" not in knobs:
        method = method.fitted(knowledge.graph)
    return knowledge.retrieve(_text(arguments.question), method)


def _query(arguments: argparse.Namespace) -> int:
    from qafd.verify import sealed

    retrieval = _retrieve(arguments)
    if arguments.json:
        _print_json(sealed(retrieval.to_dict()))
    else:
        for notice in retrieval.notices:
            print(f"qafd: {one_line(notice, 400)}", file=sys.stderr)
        for rank, passage in enumerate(retrieval.passages[:5], 1):
            print(f"{rank}. {one_line(passage.title, 200)}  ({one_line(passage.document, 200)}, "
                  f"score {passage.score:.3f})")
            print(f"   {one_line(passage.text, 400)}\n")
        full = [one_line(n.name, 100) for n in retrieval.nodes
                if n.state == "saturated" and n.kind != "passage"]
        print("nodes:", ", ".join(full[:20]))
    return DONE if retrieval.nodes else NOTHING_FOUND


def _export(arguments: argparse.Namespace) -> int:
    from qafd import export

    retrieval = _retrieve(arguments)
    text = {"json": lambda: json.dumps(export.node_link(retrieval), ensure_ascii=False),
            "graphml": lambda: export.graphml(retrieval),
            "nodes.csv": lambda: export.nodes_csv(retrieval),
            "edges.csv": lambda: export.edges_csv(retrieval),
            "html": lambda: export.html(retrieval)}[arguments.format]()
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        try:
            arguments.out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ParameterError(f"{arguments.out} cannot be written: {error.strerror}") from error
    return DONE if retrieval.nodes else NOTHING_FOUND


def _verify(arguments: argparse.Namespace) -> int:
    from qafd.verify import verify

    try:
        result = verify(json.loads(
            sys.stdin.read() if arguments.file == "-" else Path(arguments.file).read_text("utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise QafdError(f"{arguments.file} is not a stored query: {error}") from error
    if arguments.json:
        _print_json(asdict(result))
    else:
        print(*result.sentences, sep="\n")
    return DONE if result.ok else FAILED


def _doctor(arguments: argparse.Namespace) -> int:
    from qafd.doctor import doctor

    checks = doctor(None if arguments.quick else arguments.db, deep=arguments.deep)
    if arguments.json:
        _print_json([asdict(check) for check in checks])
    else:
        for check in checks:
            print(f"{'ok' if check.ok else 'BAD':4} {check.name}: {check.sentence}")
    return DONE if all(check.ok for check in checks) else FAILED


def _backup(arguments: argparse.Namespace) -> int:
    knowledge = _open(arguments)
    with knowledge.store() as store:
        store.backup(arguments.to)
    if arguments.json:
        _print_json({"backup": str(arguments.to)})
    else:
        print(arguments.to)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
