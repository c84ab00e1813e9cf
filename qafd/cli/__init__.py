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
INTERRUPTED = 130  # what shells report of a program that Ctrl-C ended
LEAST_MEMORY = 2**30  # bytes of addresses; numpy and onnxruntime crash with less

class Commands(click.Group):
    """The commands in the order in which they are declared."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(self.commands)


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
    import_module("qafd.cli.commands")  # which adds them to the group
    try:
        with qafd.make_context("qafd", arguments) as context:
            _check_memory()
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
