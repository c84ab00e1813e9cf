"""Rules and tuned numbers of the code: regular expressions, alternatives in them, and constants, by room.

    python benchmarks/rules.py [CHECKOUT ...]

An expression is a literal given to a function of `re`, an alternative a branch of "|" in it beyond the
first, and a number any but 0, 1 and 2. With several checkouts, as of `git archive`, each has a column.
"""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

CALLS = {"compile", "search", "match", "fullmatch", "sub", "split", "findall", "finditer"}
KINDS = ("expressions", "alternatives", "numbers")


def text_of(node):
    """The text of a literal, of a formatted one its fixed parts."""
    return "".join(part.value for part in ast.walk(node)
                   if isinstance(part, ast.Constant) and isinstance(part.value, str))


def count(tree):
    """Expressions, alternatives and numbers of a module."""
    found = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            found["numbers"] += node.value not in (0, 1, 2)
        called = node.func if isinstance(node, ast.Call) and node.args else None
        if isinstance(called, ast.Attribute) and getattr(called.value, "id", "") == "re":
            pattern = text_of(node.args[0]) if called.attr in CALLS else ""
            found["expressions"] += bool(pattern)
            found["alternatives"] += len(re.findall(r"(?<!\\)\|", pattern))
    return found


def count_rooms(checkout):
    """The counts of each folder of two levels, and of all."""
    rooms = {}
    for file in sorted((checkout / "qafd").rglob("*.py")):
        room = "/".join(file.relative_to(checkout / "qafd").parts[:-1][:2])
        rooms.setdefault(room, Counter()).update(count(ast.parse(file.read_text("utf-8"))))
    rooms["all"] = sum(rooms.values(), Counter())
    return rooms


def main():
    tables = [count_rooms(Path(one)) for one in sys.argv[1:] or [Path(__file__).parents[1]]]
    print(f"{'':24}" + "".join(f"{kind:>14}" * len(tables) for kind in KINDS))
    for room in sorted(set().union(*tables)):
        counts = [table.get(room, Counter())[kind] for kind in KINDS for table in tables]
        if any(counts):
            print(f"{room:24}" + "".join(f"{number:14}" for number in counts))


if __name__ == "__main__":
    main()
