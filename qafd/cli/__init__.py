"""The command line: stdout is data, stderr is messages.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing found, 4 stopped by a cap on spending,
130 interrupted.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from qafd import __version__
from qafd.errors import ParameterError, QafdError, SpendingCapError

DONE, FAILED, USAGE, NOTHING_FOUND, CAPPED = 0, 1, 2, 3, 4
LEAST_MEMORY = 2**30  # bytes of addresses; numpy and onnxruntime crash with less
INTERRUPTED = 130  # what shells report of a program that Ctrl-C ended

# Each command with the function that is it and its summary. Its module is imported when it is
# asked for: what retrieval needs takes longer to import than some commands take to run.
COMMANDS = {
    "demo": ("starting.demo", "Start the app on its sample."),
    "app": ("starting.app", "Start the app."),
    "mcp": ("serving.mcp", "Serve a workspace to a program that speaks MCP."),
    "serve": ("serving.serve", "Serve a workspace to other programs over HTTP, read-only."),
    "index": ("indexing.index_files", "Add files and folders, and build their graph."),
    "worker": ("working.worker", "Read new documents of all workspaces of a database."),
    "import": ("indexing.import_graph", "Import a graph: GraphML, GEXF, node-link JSON, "
               "CSV, GraphRAG, LightRAG."),
    "status": ("contents.status", "Count the contents of the workspace."),
    "backup": ("contents.backup", "Copy the workspace safely while it is in use."),
    "layers": ("layers.list_layers", "List the derived layers that methods need, and build them."),
    "prompts": ("prompting.prompts", "List the prompts of a workspace, print one, or change it."),
    "ledger": ("contents.ledger", "Sum up the calls to language models."),
    "docs": ("curating.docs", "List, search, delete, restore or erase documents."),
    "entities": ("curating.list_entities", "List entities, or possible duplicates."),
    "edit": ("curating.edit", "Rename, merge, split, hide or connect entities, or undo that; "
             "without options list all edits."),
    "query": ("questions.query", "Retrieve the subgraph and passages for a question."),
    "answer": ("questions.answer", "Answer a question with quoted sentences, or in a model's words."),
    "exact": ("exact.exact", "List answers that meet all conditions of a question, with sentences."),
    "compare": ("asking.compare", "Ask several methods the same question and list the differences."),
    "sweep": ("asking.sweep_settings", "Retrieve for every combination of values of a method's "
              "parameters."),
    "why": ("explaining.why", "Explain why a node is retrieved, or why not."),
    "paths": ("explaining.paths", "List the paths that the mass took."),
    "whatif": ("explaining.whatif", "Solve again with something taken out."),
    "export": ("asking.export", "Write a retrieval, or the whole graph, as a file."),
    "verify": ("runs.verify", "Re-check the certificate of a stored query."),
    "runs": ("runs.list_runs", "List saved runs, show one, or compare two."),
    "replay": ("runs.replay", "Ask the question of a run again and compare the results."),
    "eval": ("measuring.evaluation", "Measure methods on questions with known supporting passages."),
    "sql": ("foreign.sql", "Draft SQL for a question to a database, or let a model write it."),
    "schema": ("foreign.schema", "Print the schema of a database as JSON, without rows."),
    "doctor": ("checking.doctor", "Check this installation and a workspace."),
}


class Commands(click.Group):
    """The commands of `COMMANDS`, each imported when it is asked for."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        _check_memory()
        place, summary = COMMANDS[name]
        module, function = place.split(".")
        found: click.Command = getattr(import_module(f"qafd.cli.{module}"), function)
        found.help = found.help or summary
        return found

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"],
                                             "show_default": True})
@click.version_option(__version__, message="qafd %(version)s")
def qafd() -> None:
    """See why a graph-based RAG system retrieved what it retrieved."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    # Threads that wait for each other over small matrices take longer than one alone.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_streams()
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except SpendingCapError as error:
        return _complain(str(error), CAPPED)
    except QafdError as error:
        return _complain(str(error), USAGE if isinstance(error, ParameterError) else FAILED)
    except BrokenPipeError:
        _close_stdout()
        return FAILED
    except OSError as error:
        _close_stdout()
        place = f": {error.filename}" if error.filename else ""
        return _complain(f"{error.strerror or error}{place}; fix that and run the command again",
                         FAILED)
    return code


def _run(arguments: list[str]) -> int:
    try:
        with qafd.make_context("qafd", arguments) as context:
            return qafd.invoke(context) or DONE
    except click.exceptions.Exit as done:  # after --help and --version
        return done.exit_code
    except click.UsageError as error:
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            return _complain("a command is missing; 'qafd --help' lists them", USAGE)
        path = error.ctx.command_path if error.ctx else "qafd"
        return _complain(f"{error.format_message()} See '{path} --help'.", USAGE)


def _check_memory() -> None:
    """Raise ParameterError if this process may use too little memory to load its libraries."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most != resource.RLIM_INFINITY and most < LEAST_MEMORY:
        raise ParameterError(f"this process may use {most // 2**20:,} MB of memory, which is too little; "
                             f"allow it {LEAST_MEMORY // 2**20:,} MB (ulimit -v {LEAST_MEMORY // 1024})")


def _complain(message: str, code: int) -> int:
    print(f"qafd: {message}", file=sys.stderr)
    return code


def _close_stdout() -> None:
    """Discard further output, so that the end of the process does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """Reopen closed streams on the null device, so that no file takes their numbers."""
    number = os.open(os.devnull, os.O_RDWR)
    while number <= 2:
        os.set_inheritable(number, True)
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
