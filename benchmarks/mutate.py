"""Change chosen modules at random places, and count the changes that their tests notice.

    python benchmarks/mutate.py [NAME ...] [--sample 25] [--seed 1] [--json FILE] [--again FILE]

Works in a copy of the repository. Each change runs the tests that enter its line, in a process of
its own. `--again` runs only the changes that a stored file lists as unnoticed.
"""

import argparse
import ast
import importlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

FORK = multiprocessing.get_context("fork")
ROOT = Path(__file__).parents[1]
SECONDS = 25  # of tests for one change
MARKS = "not browser and not chaos and not slow and not hostile"
WARM = ("numpy", "scipy.sparse", "pytest", "coverage", "streamlit.testing.v1")
TESTS = {  # of the modules of each name
    "flow": ("flow/solver flow/region flow/sources flow/homotopy flow/weights",
             "diffusion certificate elimination sources homotopy reference mass contract "
             "weights"),
    "retrieve": ("retrieve/qafd retrieve/seeds retrieve/rank",
                 "seeds methods margins difference rank contract started plan compare united "
                 "explain_change explain_question flow_path community tree multihop graph_file "
                 "lightrag"),
    "answer": ("answer/chooser answer/claims answer/context answer/quote",
               "answer quote context conversation cli_answer answer_app"),
    "storage": ("storage/full_assembly storage/relational/assembly storage/rows",
                "storage_contract full_assembly assemble incremental erase edits index sqlite_file"),
    "explain": ("explain/entry explain/edges explain/paths explain/chains",
                "explain_change explain_question explain_flow explain_united chains explain reach "
                "context lab"),
    "app": ("app/picture app/figures app/explore/answer app/controls",
            "memory picture controls explain asking shortcuts app answer_app compare_page graph_page "
            "layout"),
    "ingest": ("ingest/incremental",
               "incremental storage_contract edits erase edges_by_hand llm_extract imports cost "
               "together multilingual remarks layers embedding graphrag"),
    "sql": ("sql/diffusion", "sql explain_united further sql_sources explain"),
    "models": ("models/embedder", "embedding models multilingual damage assemble spelling endpoint"),
    "view": ("view/layout view/contraction", "layout explain mass panel figures runs"),
    "plan": ("plan/linking", "linking plan sql graph_file names suggest spelling"),
    "curate": ("curate/splitting", "edits fuzz"),
    "export": ("export/whole", "export full_assembly graph_files graph_page"),
}
EQUIVALENT = {  # changes without an effect, and the reason
    "qafd/flow/sources.py: part / part.sum() if k else part -> (part / part.sum())":
        "of no seeds there is no quotient",
}
SWAPS = {ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE),
         ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,),
         ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.And: (ast.Or,),
         ast.Or: (ast.And,), ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div,),
         ast.Div: (ast.Mult,), ast.BitOr: (ast.BitAnd,), ast.BitAnd: (ast.BitOr,),
         ast.FloorDiv: (ast.Mult,), ast.Mod: (ast.Mult,)}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
NO_EFFECT = ("annotation", "returns", "decorator_list", "format_spec", "exc", "bases")
UNSEEN = ("repr", "eq", "frozen")  # of a field or record: how it is printed and compared


def replacements(node):
    """Yield the nodes that may replace a node."""
    def copy(**fields):
        return type(node)(**{**dict(ast.iter_fields(node)), **fields})

    match node:
        case ast.Compare(ops=[op]) if type(op) in SWAPS:
            yield from (copy(ops=[swap()]) for swap in SWAPS[type(op)])
        case ast.BoolOp(op=op) | ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPS:
            yield copy(op=SWAPS[type(op)][0]())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.IfExp(body=body, orelse=orelse):
            yield body
            yield orelse
        case ast.Call(func=ast.Name(id="sorted"), args=[argument, *_]):
            yield ast.Call(ast.Name("list"), [argument], [])
        case ast.Call(func=ast.Name(id=name)) if name in CALLS:
            yield copy(func=ast.Name(CALLS[name]))
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()


def walk(node):
    """Yield the nodes that can have an effect, which texts, messages and annotations have not."""
    yield node
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for child in children:
            printed = isinstance(child, ast.keyword) and child.arg in UNSEEN
            if field not in NO_EFFECT and isinstance(child, ast.AST) and not (
                    printed or isinstance(child, ast.JoinedStr)):
                yield from walk(child)


def mutants(text):
    """List the changes of a module: line, start and end in its bytes, old and new text."""
    source = text.encode()
    begins = [0]
    for line in source.split(b"\n"):
        begins.append(begins[-1] + len(line) + 1)
    changes = []
    for node in walk(ast.parse(text)):
        changes += [(node, ast.unparse(ast.fix_missing_locations(new))) for new in replacements(node)]
        if isinstance(node, ast.If):  # leave the branch out, or always take it
            changes += [(node.test, "False"), (node.test, "True")]
    found = []
    for node, new in changes:
        start = begins[node.lineno - 1] + node.col_offset
        end = begins[node.end_lineno - 1] + node.end_col_offset
        new = f"({new})" if isinstance(node, ast.expr) else new
        found.append((node.lineno, start, end, source[start:end].decode(), new))
    return sorted(set(found))


class Tracer:
    """Plugin of pytest that notes the lines a test enters, and for its fixtures the file."""

    def __init__(self, coverage):
        self.coverage, self.seconds = coverage, {}

    def pytest_collectstart(self, collector):  # tables of cases are made as a file is read
        self.coverage.switch_context(collector.nodeid.split("::")[0])

    def pytest_runtest_setup(self, item):
        self.coverage.switch_context(item.nodeid.split("::")[0])

    def pytest_runtest_call(self, item):
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration


def in_child(task, seconds):
    """Run a task in a process of its own; return True if it does so in time and without an error."""
    def run():
        os.setpgid(0, 0)
        with open("last.log", "w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        sys.exit(int(task()))

    child = FORK.Process(target=run)
    child.start()
    child.join(seconds)
    if child.is_alive():
        os.killpg(child.pid, signal.SIGKILL)
        child.join()
    return child.exitcode == 0


def run_tests(*arguments, plugins=()):
    """Run pytest here."""
    import pytest

    return pytest.main(["-q", "-x", "-W", "ignore::pytest.PytestAssertRewriteWarning", "-p",
                        "no:cacheprovider", "-m", MARKS, *arguments], plugins=list(plugins))


def trace(modules, tests):
    """Return the tests that enter each line of some modules, and the seconds of each test."""
    def run():
        from coverage import Coverage

        coverage = Coverage(data_file=None, include=modules)
        tracer = Tracer(coverage)
        coverage.start()
        for module in modules:  # what a module does when it is imported concerns all tests
            importlib.import_module(module.removesuffix(".py").replace("/", "."))
        status = run_tests(*tests, plugins=[tracer])
        coverage.stop()
        found = coverage.get_data()
        lines = {one: found.contexts_by_lineno(os.path.abspath(one)) for one in modules}
        Path("lines.json").write_text(json.dumps([lines, tracer.seconds]))
        return status

    if not in_child(run, 2400):
        sys.exit(f"the tests of {modules} fail unchanged:\n{Path('last.log').read_text()[-2000:]}")
    return json.loads(Path("lines.json").read_text())


def choose_tests(line, lines, seconds):
    """Return the tests that enter a line, or the quick ones if they take too long, and their seconds."""
    at = max((int(number) for number in lines if int(number) <= line), default=0)
    entered = [name for name in lines.get(str(at), ()) if name] or list(seconds)
    files = {name for name in entered if "::" not in name}
    chosen, total = [], 0.0
    for name in sorted(seconds, key=seconds.get):
        if (name in entered or name.split("::")[0] in files) and total + seconds[name] < SECONDS:
            chosen.append(name)
            total += seconds[name]
    return sorted(chosen, key=lambda name: name.split("::")[0]), total


def is_noticed(module, change, lines, seconds):
    """Run the tests of one change; return True if they fail."""
    line, start, end, _, new = change
    path = Path(module)
    source, times = path.read_bytes(), path.stat()
    path.write_bytes(source[:start] + new.encode() + source[end:])
    tests, expected = choose_tests(line, lines, seconds)
    try:
        return not in_child(lambda: run_tests(*tests), 40 + 8 * expected)
    finally:
        path.write_bytes(source)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def measure(module, changes, lines, seconds):
    """Return the share of changes that are noticed, and print the others."""
    noticed, survivors = 0, []
    for change in changes:
        line, _, _, old, new = change
        name = f"{module}: {old} -> {new}"
        if name in EQUIVALENT:
            continue
        if is_noticed(module, change, lines, seconds):
            noticed += 1
        else:
            survivors.append((line, old, new))
            print(f"  {module}:{line}  {old}  ->  {new}", flush=True)
    total = noticed + len(survivors)
    print(f"{module}: {noticed} of {total}", flush=True)
    return {"module": module, "noticed": noticed, "of": total, "survivors": survivors}


def choose(changes, options, before):
    """The changes to make: the survivors of an earlier result, or a sample."""
    if before is None:
        return random.Random(options.seed).sample(changes, min(options.sample, len(changes)))
    wanted = [tuple(one[1:]) for one in before["survivors"]]
    return [one for one in changes if (one[3], one[4]) in wanted]


def group(names):
    """Return the modules of some names by folder, as one run of a folder's tests serves them all."""
    groups = {}
    for name in names:
        folder = name.partition("/")[0]
        parts = [part for part in TESTS[folder][0].split() if part.startswith(name)] or [name]
        groups.setdefault(folder, []).extend(f"qafd/{part}.py" for part in parts)
    return groups


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(TESTS), metavar="NAME",
                        help=f"{', '.join(TESTS)}, or any module of them such as flow/solver")
    parser.add_argument("--sample", type=int, default=25, help="changes of each module")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="file for the result")
    parser.add_argument("--again", type=Path, help="file of a result, whose survivors alone are made")
    options = parser.parse_args()
    before = {row["module"]: row for row in json.loads(options.again.read_text())} if options.again else {}
    target = options.json and options.json.resolve()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "qafd"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        os.environ |= {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        for library in WARM:  # each child has them from the start
            __import__(library)
        sys.dont_write_bytecode = True
        for name, modules in group(options.names).items():
            modules = [module for module in modules if not before or before.get(module, {}).get("survivors")]
            tests = [f"tests/test_{part}.py" for part in TESTS[name][1].split()]
            lines, seconds = trace(modules, tests)
            for module in modules:
                text = Path(module).read_text("utf-8")
                changes = choose(mutants(text), options, before.get(module))
                rows.append(measure(module, sorted(changes), lines[module], seconds))
                if target:
                    target.write_text(json.dumps(rows, indent=1))
    noticed, total = sum(row["noticed"] for row in rows), sum(row["of"] for row in rows)
    print(f"noticed {noticed} of {total}: {noticed / max(total, 1):.0%}")


if __name__ == "__main__":
    main()
