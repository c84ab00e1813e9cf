"""The sentences that an edge rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from qafd.storage.rows import Evidence

SENTENCES = 2  # of an edge


def sentences_joining(found: Sequence[Evidence], chunks: Mapping[str, str], u: str,
                      v: str) -> tuple[Evidence, ...]:
    """Return sentences of a passage that mention its name, or both names; all marked."""
    for passage, name in ((u, v), (v, u)):
        if passage in chunks:
            present = [e for e in found if e.node == name and e.chunk == chunks[passage]]
            return tuple(present[:SENTENCES])
    of_u = {(e.chunk, e.start): e.mentions for e in found if e.node == u}
    both = []
    for e in found:
        if e.node == v and (e.chunk, e.start) in of_u:
            mentions = {*e.mentions, *of_u[e.chunk, e.start]}
            both.append(replace(e, mentions=tuple(sorted(mentions))))
    return tuple(both[:SENTENCES])


def sentences_in(chunk: str, found: Sequence[Evidence], u: str, v: str) -> tuple[Evidence, ...]:
    """Return sentences of a passage with both names, or the first with each."""
    present = [e for e in found if e.chunk == chunk]
    both = sentences_joining(present, {}, u, v)
    if both:
        return both
    first = {e.node: e for e in reversed(present)}
    return tuple(first[name] for name in (u, v) if name in first)
