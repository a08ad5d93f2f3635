VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
DATA ?= data
PYTHON ?= python3

.PHONY: install run test check

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev,notebooks,rerank]"
	touch $@

run: install
	@$(BIN)/headrace --data "$(DATA)" serve --samples --port $(PORT)

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -q

check: $(VENV)/installed-dev
	scripts/check
