"""What a question asks for, a person, place, time or number, and which sentences bring one."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from qafd.assemble import node_id
from qafd.edits import MENTION_KINDS, entity_types
from qafd.reading.text.bm25 import words
from qafd.records import GUESS
from qafd.storage import Workspace

PERSON, PLACE, TIME, NUMBER = "person", "place", "time", "number"
_OF = r"(?:what|which)(?: \w+)?"
_ASKED = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in {
    NUMBER: r"\bhow (?:many|much|long|old|tall|large|far|big|high|deep|often)\b|\bpercentage\b|"
            rf"\bpopulation\b|\b{_OF} number\b",
    TIME: rf"\bwhen\b|\b{_OF} (?:year|date|day|month|decade|century)\b|\bdate of\b",
    PLACE: rf"\bwhere\b|\b{_OF} (?:place|city|town|village|district|borough|municipality|county|"
           r"region|province|state|country|nation|continent|capital|location|river|lake|sea|"
           r"island|mountains?)\b|\b(?:birth)?place of\b",
    PERSON: rf"\bwho(?:m|se)?\b|\b{_OF} (?:person|people|man|woman|king|queen|president|author|"
            r"writer|poet|artist|painter|actor|actress|director|singer|musician|composer|player|"
            r"politician|scientist)\b"}.items()}
# In Chinese, Japanese, German, French and Spanish, in the same order.
_ELSEWHERE = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in {
    NUMBER: r"多少|几[个年座位人]|いくつ|何[人年個冊]|\b(?:wie ?viele?|combien|cuánt[oa]s?)\b",
    TIME: r"何时|什么时候|哪一?年|いつ|\b(?:wann|quand|cuándo)\b",
    PLACE: r"哪里|哪儿|在哪|哪[个些]?国家|どこ|\b(?:wo|où|dónde)\b",
    PERSON: r"谁|誰|哪位|\b(?:wer|wem|wen|qui|quién(?:es)?)\b"}.items()}
FOUND = {
    NUMBER: re.compile(r"\b(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
                       r"dozen|hundred|thousand|million|billion)\b|\d+(?=[\u3041-\u9fff])|"
                       r"[一二三四五六七八九十百千万]+(?=[年个個人名座月])", re.IGNORECASE),
    TIME: re.compile(r"\b(?:1\d{3}|20\d\d|(?:Jan|Febr)uary|March|April|May|June|July|August|"
                     r"(?:Septem|Octo|Novem|Decem)ber)\b|\d{1,4}(?=[年月])|.朝(?=[，。、])|時代")}
# Words for the kind of what is asked for, which what answers need not have.
GENERIC = frozenset(re.findall(r"\w+", """
    person people man men woman women human somebody someone anybody anyone place location thing
    things something anything year years date dates day days month months time times company
    companies organization organizations organisation organisations firm group city country town
    state number amount kind sort type reason name names way event result role"""))
# Words that ask, and those of which an answer has others.
ASKING = frozenset((
    "about", "according", "against", "among", "because", "compare", "compared", "concerning",
    "describe", "explain", "find", "found", "give", "happen", "happened", "introduce", "know",
    "known", "list", "mean", "mention", "mentioned", "name", "over", "please", "regarding", "said",
    "show", "tell", "total", "without", "国家", "国家名", "城市", "地方", "时候", "名字", "国",
    "場所", "名前", "关于", "关系", "联系", "内容", "介绍", "関係"))
# What taggers and models call them.
_TYPES = {PERSON: frozenset(("person", "people", "character")),
          PLACE: frozenset(("gpe", "loc", "fac", "place", "location", "city", "country",
                            "building"))}
_GROUPS = frozenset(("org", "norp", "organization", "organisation", "company", "group"))


@dataclass(frozen=True)
class Name:
    """A name that a sentence has: the entity that it means, its words and its type."""

    node: str
    text: str
    type: str


def asked_for(question: str) -> str | None:
    """The kind of thing that a question asks for, as far as its words tell."""
    return next((kind for asked in (_ASKED, _ELSEWHERE) for kind, asks in asked.items()
                 if asks.search(question)), None)


def brings(kind: str | None, text: str, new: Sequence[Name], said: Set[str]) -> float:
    """How well a sentence fits a kind that is asked for, in [0, 1].

    Only what the question does not say itself can be the answer: the `new` names of the sentence,
    and numbers and times that are not among the words `said`. A group may be meant by "who", and
    any name where the kind is unknown; both fit half.
    """
    if kind in FOUND:
        return float(any(one.group().casefold() not in said for one in FOUND[kind].finditer(text)))
    types = {name.type for name in new}
    if kind is None:
        return 0.5 * bool(types)
    if not types.isdisjoint(_TYPES[kind]):
        return 1.0
    return 0.5 * (kind == PERSON and not types.isdisjoint(_GROUPS))


def unsaid(names: Iterable[Name], said: Set[str]) -> list[Name]:
    """The names that a question with the words `said` does not have itself."""
    return [name for name in names if not said >= set(words(name.text))]


def names_in(store: Workspace, chunks: Iterable[str]) -> Mapping[tuple[str, int], Sequence[Name]]:
    """The names in the sentences of some passages, by chunk and where the sentence ends in it.

    What has a type by hand is a name of that type wherever the graph finds it in a sentence, also
    what the extractor saw in titles only.
    """
    found: dict[tuple[str, int], list[Name]] = {}
    chunks = list(chunks)
    with store.snapshot() as connection:
        merged, types = store.edits.merged(), {
            node_id("entity", key): kind.casefold()
            for key, kind in entity_types(store.edits.all()).items()}
        rows = connection.execute(
            'SELECT live.id, sentences."end", mentions.key, mentions.name, mentions.kind FROM live '
            "JOIN mentions USING (extraction) "
            "JOIN sentences ON sentences.extraction = live.extraction "
            "  AND sentences.position = mentions.sentence "
            "WHERE live.id IN (SELECT value FROM json_each(?))", (json.dumps(chunks),))
        for chunk, end, key, text, kind in rows:
            node = node_id("entity", merged.get(key, key))
            if kind not in MENTION_KINDS and node not in types:
                found.setdefault((chunk, end), []).append(Name(node, text, kind.rstrip(GUESS).casefold()))
        rows = connection.execute(
            'SELECT live.id, sentences."end", nodes.id, nodes.name FROM edges '
            "JOIN nodes ON nodes.id = source JOIN json_each(evidence) AS place "
            "JOIN live ON live.id = json_extract(place.value, '$[0]') "
            "JOIN sentences ON sentences.extraction = live.extraction "
            "  AND sentences.position = json_extract(place.value, '$[1]') "
            "WHERE edges.kind = 'mention' AND source IN (SELECT value FROM json_each(?)) "
            "AND target IN (SELECT value FROM json_each(?))",
            (json.dumps(list(types)),
             json.dumps([node_id("passage", chunk) for chunk in chunks])))
        for chunk, end, node, text in rows:
            found.setdefault((chunk, end), []).append(Name(node, text, types[node]))
    return found
