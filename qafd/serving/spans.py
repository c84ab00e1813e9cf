"""Questions to the servers as spans of OpenInference, in a file or at an endpoint of OpenTelemetry."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qafd.errors import ParameterError
from qafd.serving.http import Record
from qafd.serving.verbs import AnswerReply, FoundPassage, RetrievalReply

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

def record_spans(place: str) -> Record:
    """Return a function that writes each retrieval and answer as a span.

    Parameters
    ----------
    place : str
        A file, to which lines of OTLP JSON are added, or the http(s) address of an endpoint such as
        http://127.0.0.1:6006/v1/traces.

    Raises
    ------
    ParameterError
        OpenTelemetry is not installed, or the file cannot be written.
    """
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
    except ImportError:
        raise ParameterError("OpenTelemetry is not installed; install it with pip install "
                             "'qafd[otel]'") from None
    provider = TracerProvider(resource=Resource.create({"service.name": "qafd"}))
    if "://" in place:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=place)))
    else:
        provider.add_span_processor(SimpleSpanProcessor(_make_file_exporter(Path(place))))
    return _make_record(provider)


def _make_record(provider: "TracerProvider") -> Record:
    tracer = provider.get_tracer("qafd")

    def record(reply: object) -> None:
        if isinstance(reply, RetrievalReply):
            kind, found = "RETRIEVER", _list_documents(reply.sources)
        elif isinstance(reply, AnswerReply):
            kind, found = "CHAIN", {"output.value": " ".join(quote.text for quote in reply.quotes)}
        else:
            return
        with tracer.start_as_current_span(f"qafd {kind.lower()}") as span:
            span.set_attributes({"openinference.span.kind": kind, "input.value": reply.question, **found})

    return record


def _list_documents(sources: Sequence[FoundPassage]) -> dict[str, Any]:
    """Return passages as attributes of a span."""
    attributes: dict[str, Any] = {}
    for place, source in enumerate(sources):
        document = f"retrieval.documents.{place}.document"
        attributes |= {f"{document}.id": source.id, f"{document}.content": source.text,
                       f"{document}.score": source.score,
                       f"{document}.metadata": json.dumps({"file": source.document})}
    return attributes


def _make_file_exporter(file: Path) -> "SpanExporter":
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    def write(span: "ReadableSpan") -> str:
        return json.dumps(_with_hex_ids(MessageToDict(encode_spans([span])))) + "\n"

    try:
        out = file.open("a", encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"{file} cannot be written ({error.strerror}); name another file") from error
    return ConsoleSpanExporter(out=out, formatter=write)


def _with_hex_ids(value: Any) -> Any:
    """Return OTLP JSON with hexadecimal ids, as its standard wants them instead of base64."""
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, item in value.items():
        is_id = key in ("traceId", "spanId", "parentSpanId")
        found[key] = base64.b64decode(item).hex() if is_id else _with_hex_ids(item)
    return found
