# Everything one does with this repository; `make` alone lists it. Nothing is built again when nothing has changed.
PYTHON ?= python3
PREFIX ?= /usr/local
PYTHONS ?= $(PYTHON)
DATA ?= ../shared/data
SECONDS ?= 60
ONLY ?=
GAME ?= record
FOLDER ?= $(DATA)
# Three more of format fail under qemu, not yet explained or since it starts programs: hdf5_files, rntuple_container,
# rntuple_writing.
CHECKED_FOR_ARM := base codec model format format_hdf5 format_hdf5_ours format_rntuple_envelopes \
    format_rntuple_schema format_rntuple_reading
venv := .venv/bin
sources := $(shell find thalweg cmake python -not -name '*.test.cc' -not -path '*/__pycache__*') CMakeLists.txt README.md
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHON

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help build docs test test-root test-hdf5-2 demo demo-readout manual metrics sdist campaign kills doors devices laws foreign judges planted bench asan tsan fuzz check lint format install wheel clean check-deploy image build-packages test-packages judges-packages bench-packages lint-packages root-judges-packages check-arm arm-packages wheel-packages deploy-packages

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: .venv/package ## Install what is missing and build, which leaves .venv/bin/thalweg

docs: .venv/docs ## Build the documentation site, build/docs/html, from docs/ and the docstrings
	@PATH="$(CURDIR)/$(venv):$$PATH" $(venv)/python -m sphinx -W --keep-going -q -j auto docs build/docs/html
	@echo "The site: build/docs/html/index.html"

test: test-packages root-judges-packages .venv/test .venv/mount build/jsroot/installed build/h5wasm/installed build/jhdf/installed ## Build and run all tests, C++ and Python
	@cmake --preset default >/dev/null
	@cmake --build --preset default
	@$(venv)/python tools/run_tests.py

test-root: test-packages .venv/test build/root/installed ## Let ROOT read what we write, and write what we read
	@$(venv)/python -m pytest tests/root

test-hdf5-2: test-packages build/hdf5/installed ## Run the C++ tests of HDF5 files with HDF5 2.x in the place of the system's
	@cmake --workflow --preset hdf5-2

demo: build ## Record ten seconds from six emulated digitizers, verify, and draw the first pulses
	@tools/demo $(venv)/thalweg $(DATA)

demo-readout: build ## Read an emulated FELIX card out into a file: a card, a handler and a collector; verify, and draw
	@$(venv)/python tools/demo_readout.py $(venv)/thalweg

check-deploy: deploy-packages .venv/deploy build/apiserver/installed ## Give the manifests to a real API server, and run them in real containers, as root; needs Go
	@if [ "$$(id -u)" -eq 0 ]; then $(MAKE) --no-print-directory image; \
	else echo "Containers are left out, since only root may run them" >&2; fi
	@OPENBLAS_NUM_THREADS=1 $(venv)/python -m pytest tests/deploy

image: deploy-packages build/image/installed ## Build the image of the Containerfile without a daemon, build/image/oci, as root

campaign: test-packages ## Play recordings on a simulated machine for SECONDS, and add up what was tried
	@cmake --preset default >/dev/null
	@cmake --build --preset default --target simulate
	@mkdir -p build/simulator
	@build/default/tests/simulator/simulate --seconds $(SECONDS) --jobs $(shell nproc) --total build/simulator/campaign.json

kills: .venv/test ## Kill recordings, jobs (GAME=derive) or saves (GAME=checkpoint) for SECONDS, and go on; h5py and uproot judge
	@PYTHONPATH=tests/faults:tests/python OPENBLAS_NUM_THREADS=1 $(venv)/python -m kills --game $(GAME) --seconds $(SECONDS) --total build/kills/$(GAME).json

doors: .venv/test ## Open runs as files, and through as_file, serve and mount, for SECONDS while they are written and killed
	@OPENBLAS_NUM_THREADS=1 $(venv)/python tests/python/doors_campaign.py $(SECONDS)

devices: .venv/test ## Record for SECONDS from devices that crash, hang, overflow, are unplugged and killed
	@OPENBLAS_NUM_THREADS=1 $(venv)/python tests/python/devices_campaign.py $(SECONDS)

planted: bench-packages .venv/test ## Trace programs with planted faults, and healthy ones, serial and over two MPIs: what does explain name?
	@$(venv)/python -m pytest -q --long tests/python/planted_test.py

laws: .venv/test ## Search settings of MPI-IO on storages with a known law: how often the best of 200 is found (half an hour a law)
	@PYTHONPATH=tests/python $(venv)/python tests/python/tune_campaign.py

judges: judges-packages test-packages .venv/test ## Cut the power, fail calls and devices, cache folders, for SECONDS, as root; add up
	@OPENBLAS_NUM_THREADS=1 $(venv)/python tests/judges/campaign.py --seconds $(SECONDS) --total build/judges/total.json

foreign: .venv/test ## Compare what Thalweg makes of all files in FOLDER with what h5py and uproot read
	@PYTHONPATH=tests/others:tests/python $(venv)/python tests/others/judge_files.py $(FOLDER) --json build/judged.json

bench: bench-packages .venv/bench ## Measure, as the folders of studies/ describe it
	@$(venv)/python studies/run.py record
	@$(venv)/python studies/run.py rntuple
	@$(venv)/python studies/run.py readout
	@$(venv)/python studies/run.py pages

asan: test-packages ## Run the C++ tests under AddressSanitizer
	@cmake --workflow --preset asan

tsan: test-packages ## Run the C++ tests under ThreadSanitizer
	@cmake --workflow --preset tsan

fuzz: lint-packages .venv/test ## Give any bytes to all parsers, a minute each (SECONDS=60, ONLY="lz4 config")
	@cmake --workflow --preset fuzz
	@$(PYTHON) tools/fuzz.py --seconds $(SECONDS) $(ONLY)

check: lint-packages .venv/lint ## Check format, types and house rules, and run clang-tidy on the C++ files that changed
	@$(venv)/pre-commit run --all-files
	@$(venv)/python tools/lint_changed.py

lint: lint-packages .venv/lint ## Check format, types and house rules, and run clang-tidy (slow)
	@$(venv)/pre-commit run --all-files
	@$(venv)/pre-commit run --all-files --hook-stage manual

format: .venv/lint ## Rewrite C, C++ and Python in the house format
	@git ls-files -z '*.c' '*.cc' '*.h' | xargs -0 $(venv)/clang-format -i
	@$(venv)/ruff format . && $(venv)/ruff check --fix .

install: build-packages ## Install the C++ libraries for find_package and pkg-config under PREFIX
	@cmake --preset install --fresh -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX)) >/dev/null
	@cmake --build --preset install
	@cmake --install build/install --component cpp

wheel: build-packages wheel-packages build/hdf5/installed build/microhttpd/installed ## Build a wheel that runs elsewhere for each of PYTHONS
	@$(PYTHON) tools/wheel.py build/wheel $(PYTHONS)

sdist: .venv/tools ## Make the source distribution, build/wheel/dist, and build the package from it
	@mkdir -p build/wheel/dist build/sdist && rm -f build/wheel/dist/*.tar.gz
	@npm ci --prefix cmake/uplot --ignore-scripts --no-audit --no-fund --loglevel=error
	@$(venv)/python -c "from scikit_build_core.build import build_sdist; print(build_sdist('build/wheel/dist'))"
	@$(venv)/pip wheel -q --no-build-isolation --no-deps -w build/sdist build/wheel/dist/*.tar.gz

check-arm: arm-packages ## Run most C++ tests of base, codec, model and format for aarch64, under qemu
	@tools/check_arm build/arm $(CHECKED_FOR_ARM)

metrics: .venv/test ## Take the table of metrics from running programs, and make dashboards, alerts and their page from it
	@PYTHONPATH=tools $(venv)/python -m dashboards --look .

manual: build ## Make pages for man and completions for shells from the commands, build/manual
	@$(venv)/python tools/manual.py build/manual

clean: ## Remove everything that was built, and .venv
	rm -rf .venv build demo

# Each file below is a stamp: it says when a step was last done, and lives in .venv so as to go with it.
.venv/tools: pyproject.toml | build-packages
	@$(PYTHON) tools/create_venv.py .venv
	@touch $@

.venv/package: .venv/tools $(sources)
	@echo "Building Thalweg (the first time this takes some minutes)"
	@$(venv)/python tools/show_progress.py build/logs/package.log $(venv)/pip install -v --no-build-isolation .
	@touch $@

# The judges need root. Without it they are left out, and so is what they need; the other tests do not need it.
root-judges-packages:
	@[ "$$(id -u)" -ne 0 ] || tools/system-packages judges || \
	    echo "The judges are left out, since their packages cannot be installed" >&2

# The package is there already, so this installs only what its extra of that name asks for.
.venv/test .venv/lint .venv/docs .venv/deploy: .venv/%: .venv/package
	@$(venv)/pip install -q "thalweg[$*]"
	@touch $@

# Tests of mounts need root, and pyfuse3 is compiled. If it cannot be, they are left out.
.venv/mount: .venv/package | root-judges-packages
	@[ "$$(id -u)" -ne 0 ] || $(venv)/pip install -q "thalweg[mount]" || \
	    echo "The tests of mounts are left out, since pyfuse3 cannot be installed" >&2
	@touch $@

# JSROOT is one of the readers that tests give our files to.
build/jsroot/installed: tests/jsroot/package.json | test-packages
	@mkdir -p $(@D) && cp $< $(@D)
	@npm install --prefix $(@D) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# h5wasm and jsfive read HDF5 in browsers, jhdf in Java. Without Maven, which only root's tests install, jhdf is left
# out until there is one.
build/h5wasm/installed: tests/judges/readers/node/package.json | test-packages root-judges-packages
	@mkdir -p $(@D) && cp $< $(@D)
	@npm install --prefix $(@D) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

build/jhdf/installed: tests/judges/readers/jhdf/pom.xml | test-packages root-judges-packages
	@mkdir -p $(@D) && cp $< $(@D)
	@if ! command -v mvn >/dev/null; then echo "jhdf is left out, since there is no Maven" >&2; \
	else mvn -q -B -f $(@D)/pom.xml dependency:copy-dependencies -DoutputDirectory=lib && touch $@; fi

# So is ROOT itself, which is large, and has a venv of its own: no other test should depend on it.
build/root/installed: tests/root/requirements.txt | build-packages
	@echo "Installing ROOT (some minutes, 700 MB)"
	@$(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/pip install -q --no-cache-dir -r $<
	@touch $@

# HDF5 2.x comes from the sources that a crate carries, since Debian has 1.10.
build/hdf5/installed: tools/build_hdf5 tests/hdf5-2/Cargo.toml | build-packages
	@$< tests/hdf5-2/Cargo.toml $(@D)
	@touch $@

# And libmicrohttpd without TLS, which is in wheels.
build/microhttpd/installed: tools/build_microhttpd | build-packages
	@$< $(@D)
	@touch $@

# It needs go, and some minutes once.
build/apiserver/installed: tools/build_apiserver $(wildcard tests/deploy/apiserver/*) | build-packages
	@$< $(@D)
	@touch $@

build/image/installed: tools/build_image Containerfile .venv/package
	@$< $(@D)
	@touch $@

# The studies build what they measure themselves, without the package.
.venv/bench: .venv/tools $(wildcard studies/*/requirements.txt)
	@$(venv)/pip install -q $(patsubst %,-r %,$(filter %.txt,$^))
	@touch $@

build-packages test-packages judges-packages bench-packages lint-packages arm-packages wheel-packages deploy-packages: %-packages:
	@tools/system-packages build $(filter-out build,$*)
