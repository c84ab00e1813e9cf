"""Question sets with gold passages: our own format and six published ones, recognized by their fields.

A set is JSON (an array) or JSON lines, one question an object:

- our own: `question`, `gold` (titles or names of the documents that support the answer) and,
  where it is known, `answer` (a text or a list of texts); `id` or `qid` where there is one;
- with a file of passages: `gold_pids` or `gold_dids` instead of `gold`, their `pid` or `did`;
- HotpotQA and 2WikiMultihopQA: `context` and `supporting_facts`, as published or in columns;
- MuSiQue: `paragraphs` with `is_supporting`;
- SQuALITY: a `document` with `questions`, each with `question_text` and `responses`;
- UltraDomain: `input`, `context` and `answers`.

All but the first two bring their passages along: those of all questions together are the collection. A
long document is one passage, which is cut when it is indexed.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from qafd.errors import ParseError
from qafd.reasons import Notice, NoticeKind, notice

TEMPLATE = (
    '{"question": "Who directed the film?", "gold": ["Title of a document", "its-file-name.pdf"], '
    '"answer": "A name"}\n'
    '{"question": "A question without a known answer?", "gold": ["Title of a document"]}\n')
LONGEST_ID = 80  # what a document's name keeps of it
_IDS = ("pid", "did", "id", "_id", "idx")
_GOLD = ("gold", "gold_pids", "gold_dids", "gold_titles")


@dataclass(frozen=True)
class GoldPassage:
    """A passage of a collection; `id` is unique in it."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Question:
    """A question, the names of the passages that support its answer, and the answers accepted.

    `gold` holds ids of passages, or titles or names of documents.
    """

    id: str
    text: str
    gold: tuple[str, ...]
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class QuestionSet:
    """Questions, their passages, and a notice of the records left out."""

    questions: tuple[Question, ...]
    passages: tuple[GoldPassage, ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def digest(self) -> str:
        """A hash of questions, gold and answers."""
        return hashlib.sha256(repr(self.questions).encode()).hexdigest()[:16]


def read_questions(data: bytes, name: str = "The file", limit: int | None = None, *,
                   with_gold: bool = True) -> QuestionSet:
    """Read the questions of a file, at most the first `limit`; those without gold are left out.

    With `limit`, passages are those of the questions that are kept. Without `with_gold` questions
    need no gold passages, and those that the documents do not answer are kept.

    Raises
    ------
    ParseError
        The file is no JSON, a record is in none of the formats, or no question has gold.
    """
    questions: list[Question] = []
    passages: dict[str, GoldPassage] = {}
    left_out = 0
    records = chain.from_iterable(map(_unfold, read_records(data, name, ("questions", "data"))))
    for number, record in enumerate(records, 1):
        if limit is not None and len(questions) == limit:
            break
        place = f"Record {number} of {name}"
        found, gold = _gold_of(record, place, with_gold)
        if with_gold and (not gold or record.get("answerable") is False):
            left_out += 1
            continue
        passages |= {passage.id: passage for passage in found}
        questions.append(_question_of(record, place, str(number), gold))
    if not questions:
        if not with_gold:
            raise ParseError(f'{name} has no question; write one a line, as '
                             '{"question": "...", "answer": "..."}.')
        raise ParseError(f"{name} has no question with gold passages ({left_out} without); "
                         "give each its 'gold', a list of titles or names of documents.")
    notices = (notice(NoticeKind.GOLD_LEFT_OUT, count=left_out),) if left_out else ()
    return QuestionSet(tuple(questions), tuple(passages.values()), notices)


def read_passages(data: bytes, name: str = "The file") -> tuple[GoldPassage, ...]:
    """Read the passages of a file: objects with an id (pid, did, id), a text and usually a title.

    Raises
    ------
    ParseError
        The file is no JSON, a passage has no text or no id, or two have the same id.
    """
    passages: dict[str, GoldPassage] = {}
    for number, record in enumerate(read_records(data, name, ("passages", "data")), 1):
        identity = next((str(record[key]) for key in _IDS if key in record), "")
        text = record.get("text")
        if not 0 < len(identity) <= LONGEST_ID or not isinstance(text, str):
            raise ParseError(f"Record {number} of {name} is not a passage; it needs 'pid' (at most "
                             f"{LONGEST_ID} characters), 'title' and 'text'.")
        passage = GoldPassage(identity, str(record.get("title") or ""), text)
        if passages.setdefault(identity, passage) != passage:
            raise ParseError(f"Record {number} of {name} repeats the id {identity!r} with "
                             "another text; give each passage its own.")
    return tuple(passages.values())


def to_jsonl(questions: Iterable[Question]) -> str:
    """Write the questions in our own format, as JSON lines."""
    lines = []
    for question in questions:
        record = {"id": question.id, "question": question.text, "gold": question.gold}
        if question.answers:
            record["answer"] = question.answers
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines)


def read_records(data: bytes, name: str, keys: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Read the objects of a JSON array, of an object's array under one of `keys`, or of JSON lines."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ParseError(f"{name} is not UTF-8 (byte {error.start:,}); save it as UTF-8.") from None
    try:
        whole: Any = json.loads(text)
    except (ValueError, RecursionError):
        whole = [_line(line, number, name) for number, line in enumerate(text.split("\n"), 1)
                 if line.strip()]
    if isinstance(whole, dict) and "document" not in whole:
        whole = next((whole[key] for key in keys if isinstance(whole.get(key), list)), [whole])
    for number, record in enumerate(whole if isinstance(whole, list) else [whole], 1):
        if not isinstance(record, dict):
            raise ParseError(f"Record {number} of {name} is not a JSON object; see the template.")
        yield record


def _line(line: str, number: int, name: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise ParseError(f"Line {number:,} of {name} is not JSON; repair it and retry.") from None


def _question_of(record: dict[str, Any], place: str, number: str, gold: Iterable[str]) -> Question:
    text = record.get("question")
    if not isinstance(text, str) or not any(map(str.isalnum, text)):
        raise ParseError(f"{place} has no text under 'question'; write one.")
    identity = next((str(record[key]) for key in ("qid", "id", "_id") if key in record), number)
    return Question(_whole(identity), _whole(text), tuple(dict.fromkeys(gold)), _answers(record))


def _unfold(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the questions of a record of SQuALITY or UltraDomain, or another record as it is."""
    if "document" in record and isinstance(record.get("questions"), list):
        for asked in filter(_is_object, record["questions"]):
            responses = filter(_is_object, asked.get("responses") or [])
            yield {"question": asked.get("question_text"), "document": record["document"],
                   "answer": [one.get("response_text") for one in responses]}
    elif "input" in record and isinstance(record.get("context"), str):
        yield {"question": record["input"], "document": record["context"], "answer": record.get("answers")}
    else:
        yield record


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _gold_of(record: dict[str, Any], place: str, needed: bool
             ) -> tuple[list[GoldPassage], list[str]]:
    """Return the passages of a question, and the names of its gold passages."""
    try:
        if "document" in record:
            found = [_passage("", record["document"])]
            return found, [found[0].id]
        if "paragraphs" in record:
            found = [_passage(p["title"], p["paragraph_text"]) for p in record["paragraphs"]]
            return found, [passage.id for passage, p in
                           zip(found, record["paragraphs"], strict=True) if p.get("is_supporting")]
        if "context" in record:
            found = [_passage(title, " ".join(map(str.strip, sentences)))
                     for title, sentences in _pairs(record["context"], "title", "sentences")]
            supporting = _pairs(record.get("supporting_facts") or [], "title", "sent_id")
            titles = {title for title, _ in supporting}
            return found, [passage.id for passage in found if passage.title in titles]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ParseError(f"{place} is like HotpotQA, 2WikiMultihopQA or MuSiQue but not in "
                         "their published form.") from None
    key = next((key for key in _GOLD if key in record), None)
    if key is None and not needed:
        return [], []
    if key is None:
        raise ParseError(f"{place} has none of {', '.join(_GOLD)}, context or paragraphs; see "
                         "the template.")
    return [], _texts(record[key])


def _pairs(columns: Any, *names: str) -> Iterable[tuple[Any, Any]]:
    """Return (title, value) pairs, given as pairs or as two columns."""
    if isinstance(columns, dict):
        return zip(*(columns[name] for name in names), strict=True)
    return [(title, value) for title, value in columns]


def _passage(title: str, text: str) -> GoldPassage:
    digest = hashlib.sha256(f"{title}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    return GoldPassage(digest[:12], title, text)


def _answers(record: dict[str, Any]) -> tuple[str, ...]:
    """Return the answer and its aliases, without empty and equal ones."""
    known: list[str] = []
    for key in ("answer", "aliases", "answer_aliases"):
        known += _texts(record.get(key))
    return _distinct(known)


def _distinct(value: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_texts(value)))


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    texts = (_whole(str(item)).strip() for item in values if item is not None)
    return [text for text in texts if text]


def _whole(text: str) -> str:
    """Replace lone surrogates, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
