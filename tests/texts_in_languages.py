"""Short documents in three languages, written for the tests, and questions about some."""

import json
from pathlib import Path

_ALL = json.loads((Path(__file__).parent / "data" / "languages.json").read_text("utf-8"))
CHINESE: dict[str, str] = _ALL["chinese"]
CHINESE_QUESTIONS: dict[str, str] = _ALL["chinese_questions"]
JAPANESE: dict[str, str] = _ALL["japanese"]
JAPANESE_QUESTIONS: dict[str, str] = _ALL["japanese_questions"]
GERMAN: dict[str, str] = _ALL["german"]
