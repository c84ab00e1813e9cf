"""What a command loads before it does anything: as little as it can."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import free_port, wait_until_healthy

HEAVY = ("numpy", "scipy", "spacy", "onnxruntime", "streamlit")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nothing"]])
def test_the_list_of_commands_needs_no_heavy_package(arguments):
    code = ("import sys\nfrom qafd.cli import main\n"
            f"main({arguments!r})\nprint('loaded', *sorted(set({HEAVY!r}) & sys.modules.keys()))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded"


def test_the_threads_of_the_app_share_the_memory_that_they_freed(tmp_path):
    port = free_port()
    app = subprocess.Popen([sys.executable, "-m", "qafd", "app", "--port", str(port)],
                           env={**os.environ, "QAFD_HOME": str(tmp_path)}, stderr=subprocess.DEVNULL)
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", app)
        assert b"\0MALLOC_ARENA_MAX=2\0" in Path(f"/proc/{app.pid}/environ").read_bytes()
    finally:
        app.terminate()
        app.wait(10)
