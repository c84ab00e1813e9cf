"""A question on the command line: its workspace and its method."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import click

from qafd.cli.command import open_graph
from qafd.cli.options import Function, db_option, question_argument
from qafd.cli.streams import text_of
from qafd.errors import ParameterError

if TYPE_CHECKING:
    from qafd.explain import Explanation
    from qafd.knowledge import KnowledgeGraph
    from qafd.models import LLM
    from qafd.records import QueryPlan
    from qafd.retrieve.base import Retrieval, Retriever
    from qafd.storage import Location

NAMES = ("qafd, community, ego, flow_path, pagerank, linear, path, tree, vector, lexical, fusion, exact, "
         "multihop, flow_and, qafd-paper")  # of methods, which take a second to import


@dataclass(frozen=True)
class Inquiry:
    """A question as typed, and the method that is to answer it, as `read_methods` takes it."""

    knowledge: "KnowledgeGraph"
    question: str
    method: str

    @cached_property
    def text(self) -> str:
        """The question itself, read from standard input if it is "-"."""
        return text_of(self.question)

    def read(self, client: "LLM | None" = None, steps: int | None = None) -> "tuple[QueryPlan, Retriever]":
        """Read the question, by rules or a model, and prepare the method as the app does."""
        from qafd.retrieve.methods import read_methods

        graph = self.knowledge.graph
        chosen = read_methods(self.method, graph)
        if len(chosen) > 1:
            raise ParameterError(f"--method names {len(chosen)} methods; 'qafd compare' asks several")
        method, = chosen.values()
        return self.knowledge.plan(self.text, graph, client=client, steps=steps), method

    def retrieve(self) -> "Retrieval":
        return self.knowledge.retrieve(*self.read())

    def explain(self) -> "Explanation":
        plan, method = self.read()
        return self.knowledge.explain(plan, method=method)


def asks(*, needed: bool = True) -> Callable[[Function], Function]:
    """Give a command the options of a question, and as its first argument the inquiry they make.

    Parameters
    ----------
    needed : bool
        True if there must be a question.
    """
    def decorate(function: Function) -> Function:
        @wraps(function)
        def run(db: "Location | None", question: str, method: str, **options: Any) -> Any:
            return function(Inquiry(open_graph(db), question or "", method), **options)

        decorated: Any = click.option(
            "--method", default="qafd", metavar="METHOD",
            help=f"One of {NAMES}, or the name in its paper; with a preset as qafd:paper, with parameters "
                 "as 'qafd(mass=30,seeds=5)'. A wrong parameter is answered with the list of all.")(run)
        argument = question_argument if needed else click.argument("question", required=False)
        return db_option(argument(decorated))  # type: ignore[no-any-return]
    return decorate
