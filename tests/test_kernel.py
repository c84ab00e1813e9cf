"""Tests of qafd.flow.kernel: nothing is compiled on a request."""

import subprocess
import sys

import pytest

from qafd.flow import certificate, kernel, solver, weights


def test_a_solve_neither_imports_nor_compiles_numba():
    code = ("import sys, qafd, networkx as nx\n"
            "qafd.diffuse(nx.path_graph(9), {0: 1}, 5)\n"
            "print('numba' in sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_warming_in_the_background_ends_with_the_kernel_loaded():
    pytest.importorskip("numba")
    kernel.unload()
    kernel.warm().join()
    assert kernel.ready() is not None
    kernel.unload()
    assert kernel.ready() is None


def test_a_second_process_loads_what_the_first_compiled():
    pytest.importorskip("numba")
    kernel.warm().join()
    kernel.unload()
    code = ("from numba.core.caching import CompileResultCacheImpl as Cache\n"
            "Cache.reduce = lambda *_: print('compiled')\n"
            "import qafd.flow.compiled")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_the_compiled_solver_has_the_tolerances_of_the_other():
    compiled = pytest.importorskip("qafd.flow.compiled")
    for name in ("WIDE", "COARSE", "STEP", "FEW", "LAST", "SHARP", "SHARPENED"):
        assert getattr(compiled, name) == getattr(solver, name), name
    assert (compiled.ROUNDING, compiled.TINY) == (certificate.ROUNDING, weights.TINY)
