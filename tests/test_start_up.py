"""What a command loads before it does anything: as little as it can."""

import subprocess
import sys

import pytest

HEAVY = ("numpy", "scipy", "spacy", "onnxruntime", "streamlit")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nothing"]])
def test_the_list_of_commands_needs_no_heavy_package(arguments: list[str]) -> None:
    code = ("import sys\nfrom qafd.cli import main\n"
            f"main({arguments!r})\nprint('loaded', *sorted(set({HEAVY!r}) & sys.modules.keys()))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded"
