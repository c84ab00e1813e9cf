"""The import rule of docs/architecture.md: a module imports only from lower layers."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Lowest first. A module may also import from its own layer where the list below says so.
LAYERS = (
    ("errors", "resources", "records", "reasons", "sandbox", "extensions", "time_left", "json_files"),
    ("arrays",),
    ("wording", "graph", "nearest"),
    ("reading", "flow"),
    ("assemble",),
    ("edits",),
    ("storage",),
    ("curate",),
    ("models",),
    ("retrieve", "plan"),
    ("graph_file",),
    ("view", "ingest", "graph_cache"),
    ("export", "explain", "answer", "doctor", "samples", "preferences"),
    ("knowledge",),
    ("runs", "evaluate", "lab", "learn", "sql", "installation", "testing"),
    ("cli", "app", "serving", "streamlit"),
    ("__main__",),
)
ONLY_IN = {
    "click": ("qafd/cli/",),
    "streamlit": ("app.py", "pages/", "qafd/app/"),  # qafd/streamlit.py draws by the component of the app
    "psycopg": ("qafd/storage/postgres/",),
    "openai": ("qafd/models/remote.py", "qafd/models/endpoint_embedder.py"),
    "pyvis": ("qafd/export/__init__.py",),
    "spacy": ("qafd/reading/names/__init__.py", "qafd/reading/names/tagger.py", "qafd/plan/__init__.py"),
    "onnxruntime": ("qafd/models/embedder.py", "qafd/models/integers.py"),
    "onnx": ("qafd/models/integers.py",),
    "rjieba": ("qafd/reading/names/cjk.py",),
    "lindera": ("qafd/reading/names/cjk.py",),
}
FILES = sorted([ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *(ROOT / "qafd").rglob("*.py")])


@cache
def imported(path):
    """The modules a file imports when it runs, those only for type checkers left out."""
    found = set()

    def visit(node):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text("utf-8")))
    return found


def layer(parts):
    """Of a module of qafd, by the parts of its name.

    qafd/wording/<area>.py stands as low as what it imports when it runs: most take the records
    that they word for their types only.
    """
    own = next((i for i, names in enumerate(LAYERS) if parts[0] in names), -1)
    file = ROOT / "qafd" / "wording" / f"{parts[-1]}.py"
    if parts[0] == "wording" and file.exists():
        below = [name.split(".")[1:] for name in imported(file) if name.startswith("qafd.")]
        own = max([own, *map(layer, below)])
    return own


def test_imports_point_downward():
    for path in FILES:
        place = path.relative_to(ROOT).as_posix()
        if place.startswith("qafd/") and path.stem != "__init__" or place.startswith("qafd/retrieve"):
            own = layer(place.removesuffix(".py").split("/")[1:])
            assert own >= 0, f"{place} has no layer yet; give it one here"
            for name in imported(path):
                top, *parts = name.split(".")
                if top == "qafd" and parts:
                    assert layer(parts) <= own, f"{place} imports {name} from above"


def test_libraries_are_used_in_their_one_place():
    for path in FILES:
        place = path.relative_to(ROOT).as_posix()
        for library in {name.split(".")[0] for name in imported(path)} & ONLY_IN.keys():
            assert place.startswith(ONLY_IN[library]), f"{place} imports {library}"


def test_pages_hold_no_arithmetic_and_no_sql():
    for path in (ROOT / "pages").glob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        assert not any(isinstance(node, ast.BinOp) for node in ast.walk(tree)), path.name
        assert "SELECT" not in path.read_text("utf-8")


# What still speaks SQL outside the folder of a backend; this list only becomes shorter.
SPEAKS_SQL = {"installation"}


def test_sql_for_our_own_data_stays_in_the_folder_of_its_backend():
    speak = {path.relative_to(ROOT / "qafd").with_suffix("").as_posix() for path in FILES
             if path.is_relative_to(ROOT / "qafd")
             and re.search(r"\.execute(many|script)?\(", path.read_text("utf-8"))}
    assert {name for name in speak if not name.startswith(("storage/", "sql/"))} == SPEAKS_SQL
