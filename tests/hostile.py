"""Some two hundred strings that hurt programs which take text for something else.

They serve as names of entities, relations, documents and workspaces, as questions and as
cells of tables. `PWN` is what an executed script would set in a page, `CANARY` the host
that no page may ask for anything (reserved, so it never resolves).
"""

import json
from pathlib import Path

PWN = "__pwn"
CANARY = "canary.invalid"
_VALUES = {"{RUN}": f"window.{PWN}=1", "{PWN}": PWN, "{CANARY}": CANARY}


def _filled(text):
    for place, value in _VALUES.items():
        text = text.replace(place, value)
    return text


_KINDS = json.loads((Path(__file__).parent / "data" / "hostile.json").read_text("utf-8"))
SCRIPTS = tuple(map(_filled, _KINDS["scripts"]))
LONG = ("a" + "\u0301" * 500, "x" * 100_000, "word " * 20_000, "\U0001f4a9" * 5_000, "a" * 300 + ".pdf")
STRINGS = tuple(_filled(text) for kind in _KINDS.values() for text in kind) + LONG
