# All that a newcomer types: make reproduce, make test.
# Both create .venv in this folder when it is missing.

PYTHON ?= python3
CORES ?= 2
BIN := .venv/bin
STAMP := .venv/installed

.PHONY: reproduce reproduce-all smoke test check format lock clean help

help:
	@echo "make reproduce       measure again: the default studies, generated data, no network"
	@echo "make reproduce-all   the same for every study"
	@echo "make test            formatters, linters, type checker and all tests"
	@echo "make smoke           the smallest honest run"
	@echo "make format          format the code"

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "remeasure needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[test]'
	@touch $(STAMP)

reproduce: $(STAMP)
	@$(BIN)/python -m remeasure.lock
	$(BIN)/snakemake --cores $(CORES)

reproduce-all: $(STAMP)
	@$(BIN)/python -m remeasure.lock
	$(BIN)/snakemake --cores $(CORES) --config studies=all

smoke: $(STAMP)
	@$(BIN)/python -m remeasure.lock
	$(BIN)/snakemake --cores $(CORES) --configfile config/smoke.yaml --config studies=all
	$(BIN)/remeasure audit --all --run smoke
	$(BIN)/remeasure ledger --run smoke --selftest

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	$(BIN)/snakemake --lint

test: check
	$(BIN)/python -m pytest -n $(CORES) --dist loadgroup

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

lock:
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --editable '.[test]'
	.venv-lock/bin/python -m pip freeze --exclude-editable | sed 's/+cpu$$//' > constraints.txt
	rm -rf .venv-lock

clean:
	rm -rf results reports provenance logs data/features .snakemake
	git checkout -- results reports provenance 2>/dev/null || true
