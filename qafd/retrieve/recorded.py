"""Recorded retrievals of other systems: JSON lines, OpenTelemetry, outputs of LightRAG and GraphRAG."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from qafd.errors import ParameterError, ParseError
from qafd.reading.text.plaintext import one_line, storable
from qafd.retrieve.external import LONGEST, RetrieverError, read_results

MOST_BYTES = 100_000_000
_QUESTIONS, _ANSWERS = ("question", "query"), ("answer", "response", "output", "result")
_DOCUMENT = re.compile(r"retrieval\.documents\.(\d+)\.document\.(content|id|score)")
_FORM = ('each line is {"question": "...", "results": [{"text": "..."}]}, or a span of a retrieval as '
         "OpenTelemetry writes it")


@dataclass(frozen=True)
class RecordedRetrieval:
    """A question with its results and, if known, its answer and time (ISO 8601, UTC)."""

    question: str
    results: Any
    answer: str = ""
    at: str = ""


@dataclass(frozen=True)
class Recording:
    """The retrievals of a file; `left_out` has a sentence for each one that cannot be read."""

    found: tuple[RecordedRetrieval, ...]
    left_out: tuple[str, ...] = ()


class RecordedResults:
    """A retriever that returns the results of a file; see `read_recording`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            data = file.read_bytes()
        except OSError as error:
            raise ParameterError(f"{file} cannot be read as results ({error.strerror})") from error
        try:
            found = read_recording(data, str(file)).found
        except ParseError as error:
            raise ParameterError(str(error)) from error
        self._results = {one_line(each.question): each.results for each in found}

    def __call__(self, question: str) -> Any:
        """Return the results of a question of the file."""
        if (key := one_line(question)) not in self._results:
            raise RetrieverError(f"{self._file} has no results for {one_line(question, 80)!r}; it "
                                 f"has {len(self._results):,} other questions")
        return self._results[key]


@dataclass
class _Trace:
    """The retrievals of one trace, and the output of its root."""

    retrievals: list[RecordedRetrieval] = field(default_factory=list)
    answer: str = ""


def read_recording(data: bytes, name: str) -> Recording:
    """Read the retrievals that another system recorded in a file.

    Records are JSON lines or one JSON array of two kinds. A mapping has "question" (or "query"),
    if known "answer", and either "results" or the lists that `read_results` reads. A span is one of
    OpenInference or of the GenAI conventions of OpenTelemetry, in OTLP JSON or as the SDK and
    Phoenix print it; its answer is the output of the first span of its trace.

    Raises
    ------
    ParseError
        The file is too large, or has no retrieval.
    """
    if len(data) > MOST_BYTES:
        raise ParseError(f"{name} has {len(data) / 1e6:,.0f} MB, and at most {MOST_BYTES / 1e6:.0f} MB "
                         "are read; split it")
    traces: dict[str, _Trace] = {}
    left_out: list[str] = []
    for number, record in enumerate(_read_records(data), 1):
        where = f"record {number}"
        if isinstance(record, str):
            left_out.append(f"{where} is no JSON: {record}")
            continue
        try:
            for key, span in _read_record(record, where):
                trace = traces.setdefault(key or str(number), _Trace())
                trace.retrievals += [span] if isinstance(span, RecordedRetrieval) else []
                trace.answer = trace.answer or (span if isinstance(span, str) else "")
        except RetrieverError as error:
            left_out.append(str(error))
    found = []
    for trace in traces.values():
        found += [RecordedRetrieval(each.question, each.results, each.answer or trace.answer, each.at)
                  for each in trace.retrievals]
    if not found:
        reason = f" ({left_out[0]})" if left_out else ""
        raise ParseError(f"{name} has no retrieval{reason}; {_FORM}")
    return Recording(tuple(found), tuple(left_out))


def _read_records(data: bytes) -> Iterator[Any]:
    """Read the values of one JSON text or of JSON lines; a line that is no JSON as a text about it."""
    text = data.decode("utf-8-sig", "replace")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        for line in filter(str.strip, text.split("\n")):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                yield one_line(line, 60)
        return
    yield from whole if isinstance(whole, list) else [whole]


def _read_record(record: Any, where: str) -> Iterator[tuple[str, RecordedRetrieval | str]]:
    """Read the retrievals of a record, and answers as texts, each with the id of its trace."""
    if not isinstance(record, Mapping):
        raise RetrieverError(f"{where} is {type(record).__name__}; {_FORM}")
    if "resourceSpans" in record:
        for scope in _walk_lists(record, ("resourceSpans", "scopeSpans", "spans")):
            yield from _read_span(dict(_flatten(_unwrap(scope))), where)
    elif any(isinstance(record.get(key), str) for key in _QUESTIONS):
        question = _first_text(record, _QUESTIONS)
        results = record.get("results", record)
        read_results(results, where)
        yield "", RecordedRetrieval(question, results, _first_text(record, _ANSWERS))
    else:
        yield from _read_span(dict(_flatten(_unwrap(record))), where)


def _walk_lists(record: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[Any]:
    """List the items below lists of lists, by the key of each level."""
    for item in record.get(keys[0]) or ():
        if len(keys) == 1:
            yield item
        elif isinstance(item, Mapping):
            yield from _walk_lists(item, keys[1:])


def _unwrap(value: Any) -> Any:
    """Return a value of OTLP JSON, such as {"stringValue": "a"} or a list of key and value, as plain JSON."""
    if isinstance(value, Mapping):
        kind = next(iter(value)) if len(value) == 1 else ""
        if kind in ("arrayValue", "kvlistValue"):
            return _unwrap(value[kind].get("values", []))
        if kind.endswith("Value"):
            return value[kind]
        return {key: _unwrap(item) for key, item in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, Mapping) and item.keys() == {"key", "value"} for item in value):
            return {item["key"]: _unwrap(item["value"]) for item in value}
        return [_unwrap(item) for item in value]
    return value


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """List the values of nested mappings and lists by dotted paths, without the word "attributes"."""
    if isinstance(value, Mapping | list) and path != "events":
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, item in items:
            own = str(key).removeprefix("attributes").removeprefix(".")
            yield from _flatten(item, ".".join(filter(None, (path, own))))
    else:
        yield path, value


def _read_span(span: Mapping[str, Any], where: str) -> Iterator[tuple[str, RecordedRetrieval | str]]:
    """Read the retrieval of a flattened span; of the first span of a trace also the answer."""
    trace = str(next((span[key] for key in ("traceId", "trace_id", "context.trace_id") if key in span), ""))
    listed = span.get("gen_ai.retrieval.documents")
    documents: dict[int, dict[str, Any]] = {}
    for path, value in span.items():
        if match := _DOCUMENT.fullmatch(path):
            documents.setdefault(int(match[1]), {})[match[2]] = value
    results = [documents[number] for number in sorted(documents)]
    if isinstance(listed, str):
        results = _parse(listed)
    if results or span.get("openinference.span.kind") == "RETRIEVER" \
            or span.get("gen_ai.operation.name") == "retrieval":
        question = _text_in(span.get("gen_ai.retrieval.query.text") or span.get("input.value"), _QUESTIONS)
        if not question:
            raise RetrieverError(f"a span of {where} has no question; set its attribute input.value")
        read_results(results, where)
        yield trace, RecordedRetrieval(question, results, at=_time_of(span))
    elif not any(span.get(key) for key in ("parentSpanId", "parent_id")):
        yield trace, _text_in(span.get("output.value"), _ANSWERS)


def _text_in(value: Any, keys: tuple[str, ...]) -> str:
    """Return a text; if it is a JSON object, the text under the first of `keys` that it has."""
    inner = _parse(value) if isinstance(value, str) and value.lstrip().startswith("{") else value
    if isinstance(inner, Mapping):
        return _first_text(inner, keys) or storable(str(value)[:LONGEST])
    return storable(inner[:LONGEST]) if isinstance(inner, str) else ""


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _first_text(record: Mapping[str, Any], keys: Iterable[str]) -> str:
    texts = (record[key] for key in keys if isinstance(record.get(key), str))
    return storable(next(texts, "")[:LONGEST])


def _time_of(span: Mapping[str, Any]) -> str:
    start = span.get("startTimeUnixNano")
    if str(start).isdecimal():
        return datetime.fromtimestamp(int(str(start)) / 1e9, UTC).isoformat(timespec="seconds")
    return str(span.get("start_time") or "")[:40]
