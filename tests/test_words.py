"""The project reads plainly: docstrings, function names and documents keep their limits."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORD = re.compile(r"[A-Za-z][\w'-]*")
RIDDLE = re.compile(r"(what|which|whether|who|whose|how|that|where)\b", re.IGNORECASE)
ODD = re.compile(r"\b(said|says|told|tells|anew|beside|stands|stood|brings|brought|speaks|spoke|"
                 r"whoever|likewise|hitherto)\b", re.IGNORECASE)
PARTICIPLE = re.compile(r"_?([a-z]+(ed|en|wn|ld|lt|pt|nt)|made|said|kept|found)")
VERB_OR_NOUN = re.compile(
    r"embed|feed|seed|need|speed|exceed|proceed|build|hold|fold|unfold|add|print|"
    r"paint|count|point|mount|adapt|accept|open|listen|happen|fasten|spread|load|"
    r"find|bind|send|extend|prompt|attempt|parent|event|current|client|document|"
    r"content|extent|field|yield|default|fault|result|salt|tilt|melt|token|screen|"
    r"green|when|then|given|weight|text|hint|tint|want|font|front")

# The goals of the project.
LIMITS = {
    "docstrings that open with a question word, percent": 2.0,
    "odd words in 10,000 of docstrings": 8.0,
    "functions named by a participle": 40,
    "words of README": 1_100,
    "words of README and docs": 24_000,
    "mean words of a sentence of the documents": 17.0,
    "sentences of the documents over 35 words": 0,
}


@cache
def trees():
    return tuple(ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / "qafd").rglob("*.py")))


def docstrings():
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = (ast.get_docstring(node) for tree in trees() for node in ast.walk(tree)
             if isinstance(node, kinds))
    return [text for text in texts if text]


def functions():
    """The name of each function that is not a property, which may be a noun."""
    for tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not any(
                    "property" in ast.unparse(decorator) for decorator in node.decorator_list):
                yield node.name


@cache
def pages():
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {file.name: file.read_text("utf-8") for file in files}


def sentences(text):
    """The sentences of a page, without code, tables, headings and comments."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    lines = (line for line in text.split("\n") if not re.match(r"\s*(\||#|<!--| {4})", line))
    text = re.sub(r"`[^`]*`", "x", "\n".join(lines))
    for part in re.split(r"(?<=[.!?:;])\s+|\n\s*\n|\n\s*[-*] |\n\d+\. ", text):
        if len(WORD.findall(part)) > 2:
            yield " ".join(part.split())


@cache
def figures():
    texts = docstrings()
    words = sum(len(WORD.findall(text)) for text in texts)
    participles = [name for name in functions()
                   if PARTICIPLE.fullmatch(name) and not VERB_OR_NOUN.fullmatch(name.strip("_"))]
    parts = [sentence for page in pages().values() for sentence in sentences(page)]
    lengths = [len(WORD.findall(sentence)) for sentence in parts]
    values = (
        100 * sum(bool(RIDDLE.match(text)) for text in texts) / len(texts),
        1e4 * sum(len(ODD.findall(text)) for text in texts) / words,
        len(participles),
        len(WORD.findall(pages()["README.md"])),
        sum(len(WORD.findall(page)) for page in pages().values()),
        sum(lengths) / len(lengths),
        sum(length > 35 for length in lengths))
    return dict(zip(LIMITS, values, strict=True))


@pytest.mark.parametrize("what", LIMITS)
def test_the_project_keeps_its_limits_of_words(what):
    assert figures()[what] <= LIMITS[what]
