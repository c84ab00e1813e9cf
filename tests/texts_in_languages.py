"""Short documents in three languages, written for the tests, and questions about some."""

import json
from pathlib import Path

_ALL = json.loads((Path(__file__).parent / "data" / "languages.json").read_text("utf-8"))
CHINESE = _ALL["chinese"]
CHINESE_QUESTIONS = _ALL["chinese_questions"]
JAPANESE = _ALL["japanese"]
JAPANESE_QUESTIONS = _ALL["japanese_questions"]
GERMAN = _ALL["german"]
