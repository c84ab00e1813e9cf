"""A question on the command line: its workspace, the method and its parameters.

The parameters of methods are read from them when a question is asked. Loading them takes a second,
so help lists them only for the method that `--method` names.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import click

from qafd.cli.command import open_graph
from qafd.cli.options import Function, db_option, question_argument
from qafd.cli.streams import text_of
from qafd.errors import ParameterError

if TYPE_CHECKING:
    from qafd.explain import Explanation
    from qafd.graph import Graph
    from qafd.knowledge import KnowledgeGraph
    from qafd.models import LLM
    from qafd.records import QueryPlan
    from qafd.retrieve.base import Retrieval, Retriever
    from qafd.storage import Location

NAMES = ("qafd, community, ego, flow_path, pagerank, linear, path, tree, vector, lexical, fusion, exact, "
         "released, multihop, flow_and, qafd-paper")
PRESETS = ("best", "paper", "tokens")
HELP = ("-h", "--help")
KNOB = "knob_"  # keeps a method's parameter apart from an option of the same name


@dataclass(frozen=True)
class Inquiry:
    """A question as typed, with the parameters that were given."""

    knowledge: "KnowledgeGraph"
    question: str
    method: str
    preset: str
    knobs: dict[str, Any]

    @cached_property
    def text(self) -> str:
        """The question itself, read from standard input if it is "-"."""
        return text_of(self.question)

    def read(self, client: "LLM | None" = None) -> "tuple[QueryPlan, Retriever]":
        """Read the question, by rules or a model, and prepare the method as the app does."""
        from qafd.retrieve.base import wants_subqueries

        graph = self.knowledge.graph
        method = self._method(graph)
        plan = self.knowledge.plan(self.text, graph, subqueries=wants_subqueries(method), client=client)
        return plan, method

    def retrieve(self, client: "LLM | None" = None) -> "Retrieval":
        return self.knowledge.retrieve(*self.read(client))

    def explain(self) -> "Explanation":
        plan, method = self.read()
        return self.knowledge.explain(plan, method=method)

    def _method(self, graph: "Graph") -> "Retriever":
        from qafd.retrieve import methods
        from qafd.retrieve.qafd import PRESETS

        name = methods.canonical(self.method)
        chosen = PRESETS[self.preset].method if name == "qafd" else methods.method_of(name)
        own = [spec.name for spec in fields(chosen)]  # type: ignore[arg-type]
        for knob in self.knobs:
            if knob not in own:
                raise ParameterError(f"the method {name!r} has no {_option(knob)}; it has "
                                     f"{', '.join(map(_option, own))}")
        return methods.tune(chosen, self.knobs, graph)


def asks(*, method: bool = False, needed: bool = True) -> Callable[[Function], Function]:
    """Give a command the options of a question, and as its first argument the inquiry they make.

    Parameters
    ----------
    method : bool
        True if the method can be chosen; else it is qafd.
    needed : bool
        True if there must be a question.
    """
    def decorate(function: Function) -> Function:
        @wraps(function)
        def run(db: "Location | None", question: str, preset: str, method: str = "qafd",
                **options: Any) -> Any:
            knobs = {}
            for name in list(options):
                if name.startswith(KNOB):
                    value = options.pop(name)
                    if value is not None:
                        knobs[name.removeprefix(KNOB)] = value
            inquiry = Inquiry(open_graph(db), question or "", method, preset, knobs)
            return function(inquiry, **options)

        decorated: Any = click.option("--preset", type=click.Choice(PRESETS), default="best",
                                      help="Settings of the method qafd.")(run)
        if method:
            decorated = click.option(
                "--method", default="qafd", show_default=True,
                help=f"One of {NAMES}, or the name in its paper.")(decorated)
        if needed:
            decorated = question_argument(decorated)
        else:
            decorated = click.argument("question", required=False)(decorated)
        return db_option(decorated)  # type: ignore[no-any-return]
    return decorate


class QuestionCommand(click.Command):
    """A command with the parameters of the methods as options."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Add the parameters of the methods, of one alone for help, and read the arguments."""
        own = [option for option in self.params if not str(option.name).startswith(KNOB)]
        helped = any(option in arguments for option in HELP)
        if not helped:
            self.params = own + _knob_options()
        elif "--method" in arguments[:-1]:
            self.params = own + _knob_options(arguments[arguments.index("--method") + 1])
        else:
            self.params = own
        return super().parse_args(context, arguments)

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(context, formatter)
        formatter.write_paragraph()
        formatter.write_text("Methods have parameters of their own: 'qafd query --method NAME --help' "
                             "lists them.")


def _knob_options(named: str = "") -> list[click.Parameter]:
    """Return one option for each parameter of any retrieval method, or of the named one."""
    from qafd.retrieve import METHODS, methods

    chosen = {methods.canonical(named).removesuffix("-paper")} if named else set(METHODS)
    owners: dict[str, list[str]] = {}
    for name in METHODS:
        for spec in fields(METHODS[name]) if name in chosen else ():  # type: ignore[arg-type]
            owners.setdefault(spec.name, []).append(name)
    options: list[click.Parameter] = []
    for knob, names in owners.items():
        specs = [METHODS[name].__dataclass_fields__[knob]  # type: ignore[attr-defined]
                 for name in names]
        values: list[str] = []
        for spec in specs:
            values += spec.metadata["options"]
        kind = click.Choice(list(dict.fromkeys(values))) if values else type(specs[0].default)
        options.append(click.Option(
            [_option(knob), KNOB + knob], type=kind,
            help=f"{specs[0].metadata['help']} (--method {', '.join(names)})"))
    return options


def _option(knob: str) -> str:
    return "--" + knob.replace("_", "-")
