"""The command line: stdout is data, stderr is messages.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 nothing found, 4 stopped by a cap on spending,
130 interrupted.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from qafd import __version__
from qafd.cli import (
    answer,
    ask,
    compare,
    curate,
    doctor,
    documents,
    evaluate,
    explain,
    imports,
    layers,
    model,
    runs,
    sql,
    start,
    sweep,
    workspace,
)
from qafd.cli.common import CAPPED, FAILED, INTERRUPTED, USAGE
from qafd.errors import ParameterError, QafdError, SpendingCapError

GROUPS = (start, workspace, documents, doctor, imports, curate, ask, answer, compare, evaluate,
          explain, layers, model, runs, sql, sweep)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    try:
        return _run(argv)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(argv: Sequence[str] | None) -> int:
    # Threads that wait for each other over small matrices take longer than one alone.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_streams()
    parser = _parser()
    arguments = parser.parse_args(argv)
    _clean(arguments)
    try:
        code = int(arguments.run(arguments))
        sys.stdout.flush()
    except ParameterError as error:
        print(f"qafd: {error}", file=sys.stderr)
        return USAGE
    except SpendingCapError as error:
        print(f"qafd: {error}", file=sys.stderr)
        return CAPPED
    except QafdError as error:
        print(f"qafd: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        _close_stdout()
        return FAILED
    except OSError as error:
        _close_stdout()
        place = f": {error.filename}" if error.filename else ""
        print(f"qafd: {error.strerror or error}{place}; mend that and run the command again",
              file=sys.stderr)
        return FAILED
    return code


def _clean(arguments: argparse.Namespace) -> None:
    """Replace what is no UTF-8 in all arguments but the names of files, which have it by right."""
    from qafd.reading.text.plaintext import storable

    for name, value in vars(arguments).items():
        if name not in ("files", "file"):
            if isinstance(value, str):
                setattr(arguments, name, storable(value))
            elif isinstance(value, list):
                setattr(arguments, name, [storable(v) if isinstance(v, str) else v for v in value])


def _close_stdout() -> None:
    """Let nothing more be written, so that the end of the process does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_streams() -> None:
    """Send what is written to closed streams nowhere, and let no file take their numbers."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="qafd", description="See why a graph-based RAG system retrieved what it retrieved.")
    parser.add_argument("--version", action="version", version=f"qafd {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for group in GROUPS:
        group.add(commands)
    return parser
