"""Sentences for people, in the language in force: the one place where templates become words.

Everything below the app and the command line computes numbers and enums; the modules beside this one
say them. A sentence is a template in English, such as ``"{full} of {all} nodes retrieved"``, which is
also its key: a language is one JSON file of templates and their translations.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from qafd.errors import ParameterError, QafdError

if TYPE_CHECKING:
    from qafd.records import Check

Catalog = Mapping[str, str]
"""English template to the template of a language; what it lacks or leaves empty stays English."""

_ENGLISH: Catalog = {}
_CATALOG: ContextVar[Catalog] = ContextVar("catalog", default=_ENGLISH)


def say(template: str, /, **values: object) -> str:
    """The sentence that a template and its values make, in the language in force.

    >>> say("{full} of {all} nodes retrieved", full=3, all=11)
    '3 of 11 nodes retrieved'
    """
    words = _CATALOG.get().get(template) or template
    return words.format(**values) if values else words


def say_count(number: int, one: str, many: str, /, **values: object) -> str:
    """The sentence for one thing or for several; both templates may use ``{number}``.

    >>> say_count(1, "{number} node", "{number} nodes"), say_count(1200, "{number} node", "{number} nodes")
    ('1 node', '1,200 nodes')
    """
    return say(one if number == 1 else many, number=f"{number:,}", **values)


def say_list(words: Sequence[str]) -> str:
    """Several words or phrases as one: "a", "a and b", "a, b and c"."""
    if len(words) < 2:
        return "".join(words)
    return say("{first} and {last}", first=", ".join(words[:-1]), last=words[-1])


def say_some(names: Sequence[str], most: int = 3) -> str:
    """The first names as one phrase: "Fuji, Gala, Cox and 4 more"; never "1 more"."""
    if len(names) <= most + 1:
        return say_list(names)
    return say_list([*names[:most], say("{number} more", number=len(names) - most)])


def say_error(error: QafdError) -> str:
    """What an error says, in the language in force."""
    return say(error.template, **error.values)


def say_check(check: "Check") -> str:
    """What a check found, in the language in force."""
    return say(check.template, **check.values)


@contextmanager
def speaking(catalog: Catalog) -> Iterator[None]:
    """Every sentence said inside is of this language; English is the empty catalog."""
    token = _CATALOG.set(catalog)
    try:
        yield
    finally:
        _CATALOG.reset(token)


def read_catalog(file: Path) -> Catalog:
    """A language from its file: one JSON object of English templates and translations.

    Raises
    ------
    ParameterError
        The file cannot be read or is no such object.
    """
    try:
        catalog = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ParameterError("The language file {name} cannot be read ({error}); give a JSON object of "
                             "templates and translations.", name=file.name, error=error) from error
    if not isinstance(catalog, dict) or not all(isinstance(words, str) for words in catalog.values()):
        raise ParameterError("The language file {name} is no JSON object of templates and translations.",
                             name=file.name)
    return catalog
