# The commands of rexmit. `make help` lists them; each does its own set-up and may be repeated.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help setup kernel demo studies power linux stacks test long sctp-trace fuzz lint format docs schema bench fidelity fidelity-ecn judge wheel wheels release-check lock clean

help:  ## List these commands.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

setup:  ## Make .venv, install what is pinned, build the native module. Quick when nothing changed.
	@$(PYTHON) scripts/setup.py

kernel: setup  ## Build the virtual-time Linux kernel, once.
	@$(BIN)/rexmit kernel build

demo:  ## Run the study hurtig-2006 (23,898 runs), compare with the published numbers, draw its figures.
	@$(PYTHON) scripts/setup.py --only demo
	@$(BIN)/python scripts/demo.py

studies: setup  ## Run the five published studies on the model, compare them, draw their figures: 10 minutes on two cores.
	@$(BIN)/python scripts/all_studies.py

power: setup  ## Run wrong systems through the comparison of each published study: which rows catch which.
	@$(BIN)/python scripts/power.py

linux: kernel  ## Run hurtig-2006 on Linux 6.1 in virtual time and write the page about it; WHOLE=1: on 6.12 too, and the long flows thrice.
	@$(if $(WHOLE),$(BIN)/rexmit kernel build --version 6.12)
	@$(BIN)/python scripts/study_page.py hurtig-2006 --linux $(if $(WHOLE),--whole)

stacks: kernel  ## Lose each packet in turn on everybody's stacks and write the page about it: which-losses-wait.
	@$(BIN)/rexmit stack build
	@$(BIN)/python scripts/study_page.py which-losses-wait

test: setup  ## Everything that continuous integration checks; lists what it had to skip.
	@$(BIN)/python scripts/check.py

sctp-trace: setup  ## The tool of study 002 on our captures: TEXT=the text that lists it.
	@REXMIT_TEXT_002=$(TEXT) $(BIN)/pytest -m long tests/python/test_peers_sctp_trace.py

long: kernel  ## The rest of the matrices of which `make test` runs a sample, and what needs Linux 6.12 beside 6.1.
	@$(BIN)/rexmit kernel build --version 6.12
	@$(BIN)/pytest -m "long or second_kernel" --numprocesses=auto
	@cargo test --quiet --locked --profile quick --package rexmit-sim --test causes -- --ignored

fuzz: setup  ## Fuzz every target, guided by coverage, from the stored corpora; two minutes in all.
	@$(BIN)/python scripts/fuzz.py

lint: setup  ## Only the checks that need no run: formats, lints, types, import rules.
	@$(BIN)/python scripts/check.py --only lint

format: setup  ## Format Rust, Python and TypeScript in place.
	@cargo fmt --all
	@npm run --silent --prefix web format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: setup  ## Build the documentation into build/docs; a warning is an error.
	@$(BIN)/python scripts/check.py --only docs

schema: setup  ## Write the pages and the JSON Schema that come from the code.
	@$(BIN)/python scripts/generate_docs.py

bench:  ## Measure speed and memory, beside ns-3, other stacks, tcptrace and tshark where installed; as root, live emulation.
	@$(PYTHON) scripts/setup.py --optimised
	@$(BIN)/python benches/bench.py
	@$(BIN)/python benches/sctp.py
	@$(BIN)/python benches/analysis.py
	@$(BIN)/python benches/pages.py
	@$(BIN)/python benches/studies.py
	@$(BIN)/python benches/sweep.py
	@$(BIN)/python benches/kernels.py
	@$(BIN)/python benches/linux_studies.py
	@$(BIN)/python benches/live.py

fidelity: kernel  ## Compare the model with the real kernel, in virtual time and (as root) in real time.
	@$(BIN)/python scripts/fidelity.py --page --kernel 100
	@$(BIN)/python scripts/fidelity_wide.py --page

fidelity-ecn: kernel  ## The same of ECN and DCTCP, in virtual time.
	@$(BIN)/python scripts/fidelity_ecn.py --page

judge:  ## Judge captures of foreign senders: 50,000 retransmissions at each place, 50,000 certain at the sender; goes on where it was ended.
	@$(PYTHON) scripts/judge.py --page

wheel: setup  ## Build a wheel and run it installed alone in a fresh environment; TRAINED=1: with profile-guided optimisation, as released.
	@$(BIN)/python scripts/wheel.py $(if $(TRAINED),--trained)

wheels: setup  ## Build wheels for musl, aarch64 (run under QEMU), macOS and Windows; TARGETS chooses.
	@$(BIN)/python scripts/wheels.py $(TARGETS)

release-check: setup  ## Try all of a release but publishing: versions, digests, crates, wheel, sdist, citation.
	@$(BIN)/python scripts/release.py

lock: setup  ## Choose the pinned Python versions anew, from pyproject.toml.
	@$(BIN)/python scripts/lock.py

clean:  ## Remove what was built; results stay.
	rm -rf .venv .cache build dist target python/rexmit/*.so python/rexmit/plot/web web/node_modules .mypy_cache .ruff_cache .pytest_cache
