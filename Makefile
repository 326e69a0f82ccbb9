.DEFAULT_GOAL := help
.PHONY: help install demo test properties fuzz chaos lint bench gold train held-out resolution up down types

# Annotated dialogues and recorded runs, which are kept beside the project.
export MEMSTREAM_SHARED ?= $(abspath ../shared)
BIN := .venv/bin

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: ## make .venv and install Memstream into it, for work on it
	@deploy/install.sh

demo: install ## bring up everything, tell the sample story, show what memory makes of it
	@$(BIN)/memstream demo

test: install ## bring up Kafka and Neo4j and run every test (ARGS="-k recall" for some)
	@deploy/test.sh $(ARGS)

properties: install ## any order, any duplicates, any crash: ten times as many examples as `make test`
	@EXAMPLES_TIMES=10 deploy/test.sh tests/properties $(ARGS)

fuzz: install ## look for texts and records that break extraction or the codec (SECONDS=300 each)
	@$(BIN)/python -c "import atheris" || { echo "Needs the extra: $(BIN)/pip install -e '.[fuzz]'" >&2; exit 1; }
	@$(BIN)/python tests/fuzz/fuzz.py codec $(or $(SECONDS),300)
	@$(BIN)/python tests/fuzz/fuzz.py extract $(or $(SECONDS),300)

chaos: install ## kill, pause and cut off everything for minutes, on a Kafka and a Neo4j of its own
	@PYTHONPATH=tests/support:tests/faults $(BIN)/python -m chaos $(ARGS)

lint: install types ## ruff, mypy (strict), import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy build/types/memstream tests benchmarks
	$(BIN)/lint-imports --no-logo

bench: install ## measure rates and latencies on this machine
	@$(BIN)/memstream up
	@$(BIN)/python -m benchmarks $(ARGS)

train: install ## fit the models that ship to the annotated dialogues, and score them (five minutes)
	@test -d $(MEMSTREAM_SHARED)/gold || { echo "No dialogues in $(MEMSTREAM_SHARED)/gold: set MEMSTREAM_SHARED." >&2; exit 1; }
	@$(BIN)/python -m memstream.extractors.fit.train_entities $(MEMSTREAM_SHARED)/gold/train.jsonl training/dialogues.jsonl
	@$(BIN)/python -m memstream.extractors.fit.train_relations $(MEMSTREAM_SHARED)/gold/train.jsonl training/dialogues.jsonl
	@$(MAKE) --no-print-directory gold

held-out: install ## fit to most of the dialogues and score on the rest: how a change is judged (six minutes)
	@test -d $(MEMSTREAM_SHARED)/gold || { echo "No dialogues in $(MEMSTREAM_SHARED)/gold: set MEMSTREAM_SHARED." >&2; exit 1; }
	@mkdir -p build
	@$(BIN)/python -m memstream.extractors.fit.held_out build $(MEMSTREAM_SHARED)/gold/train.jsonl training/dialogues.jsonl
	@$(BIN)/python $(MEMSTREAM_SHARED)/gold/score.py build/held-out.gold.jsonl build/held-out.jsonl $(ARGS)

gold: install ## score extraction against the annotated dialogues
	@test -d $(MEMSTREAM_SHARED)/gold || { echo "No dialogues in $(MEMSTREAM_SHARED)/gold: set MEMSTREAM_SHARED." >&2; exit 1; }
	@mkdir -p build
	@$(BIN)/memstream extract $(MEMSTREAM_SHARED)/gold/dev.jsonl > build/gold.jsonl
	@$(BIN)/python $(MEMSTREAM_SHARED)/gold/score.py $(MEMSTREAM_SHARED)/gold/dev.jsonl build/gold.jsonl --kinds $(ARGS)

resolution: install ## score the joining of entities on the pairs written for it
	@$(BIN)/python -m benchmarks resolution $(ARGS)

up: install ## start Kafka and Neo4j
	@$(BIN)/memstream up

down: ## stop all that was started here
	@if [ -x $(BIN)/memstream ]; then $(BIN)/memstream down; fi

# The rooms as one tree, since mypy does not see through a lenient editable install.
types:
	@rm -rf build/types && mkdir -p build/types/memstream
	@for room in */__init__.py; do \
		case $$room in tests/*|benchmarks/*) ;; *) ln -s ../../../$${room%/*} build/types/memstream/$${room%/*} ;; esac; \
	done
