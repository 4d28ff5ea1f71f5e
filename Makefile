# Everything needs only Python >= 3.11 and make; each target first installs what it needs and no more.
PYTHON ?= python3
HOST ?=
PORT ?=
MODEL ?=
RECIPE ?= recipes/toy.toml
RUN ?= runs/toy
REPLICAS ?= 2
MINUTES ?= 60
CASES ?= 20000
EXAMPLES ?= 2000
MUTATIONS ?= 1000
SEED ?= 1
GPU_PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
GPU_DEVICE ?= cuda
# What `gpu-pack` made, for a Python that has not all packages.
GPU_PACKED := $(if $(filter .venv/%,$(GPU_PYTHON)),,$(wildcard build/gpu-site.zip))

BIN := .venv/bin
SERVING := .venv/serving
TRAINING := .venv/with-train
TESTING := .venv/with-test
LINTING := .venv/with-lint
RAY := .venv/with-ray

.DEFAULT_GOAL := help
.PHONY: help install serve test test-sets lint tables docs docs-serve train bench-loop native-check native-check-arm gpu-check gpu-pack bench bench-engines observe-test \
	ray-serve ray-test container-test clients-test marian-test browser-test page-images \
	fuzz prices redis-test proxy-test soak wheels wheel-arm lock audit sbom licences

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(TESTING) $(LINTING) ## create .venv with everything for serving, training and testing

GPU := $(shell command -v nvidia-smi)
# Without an NVIDIA GPU the small build of PyTorch is enough.
TORCH_INDEX ?= $(if $(GPU),,https://download.pytorch.org/whl/cpu)
# PyTorch serves on a GPU and where the C++ cannot be compiled, and imports models.
SERVES_WITH_PYTORCH = $(GPU)$(if $(shell command -v c++ || command -v g++),,x)$(filter-out zh-en en-de checkpoints/%,$(MODEL))
NATIVE := $(wildcard model/backends/native/*.cpp model/backends/native/*.h model/backends/native/*.inc)

$(SERVING): pyproject.toml setup.py $(NATIVE)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed, this is " + sys.version)'
	$(PYTHON) -m venv .venv
	rm -f model/backends/native/_library.*
	$(BIN)/pip install -e .
	touch $@

.venv/with-torch: $(SERVING)
	$(BIN)/pip install --no-deps --retries 1 $(TORCH_INDEX:%=--extra-index-url %) "$$(sed -n 's/^ *"\(torch==[0-9.]*\)",$$/\1/p' pyproject.toml)"
	$(BIN)/pip install 'dragoman[torch]'
	touch $@

$(TRAINING) $(TESTING) $(LINTING) .venv/with-clients .venv/with-browser: .venv/with-torch

# The requirements of an extra. dragoman itself is installed already and not compiled again.
.venv/with-%: $(SERVING)
	$(BIN)/pip install 'dragoman[$*]'
	touch $@

serve: $(SERVING) $(if $(SERVES_WITH_PYTORCH),.venv/with-torch) ## serve MODEL="zh-en en-de" on HOST=127.0.0.1 PORT=8000; without these, what the settings say
	$(BIN)/dragoman serve $(addprefix --model ,$(MODEL)) $(addprefix --host ,$(HOST)) $(addprefix --port ,$(PORT))

ray-serve: export RAY_USAGE_STATS_ENABLED = 0
ray-serve: export RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S = 60
ray-serve: export RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH = service.ray_serve.proxy:middlewares
ray-serve: $(RAY) ## serve on Ray Serve with REPLICAS=2 on port 8000 (installs dragoman[ray])
	$(BIN)/serve run service.ray_serve.app:app replicas=$(REPLICAS)

test: $(TESTING) ## run the tests; those that need a GPU skip themselves, others have targets below
	$(BIN)/pytest --numprocesses 2 --dist loadfile

# What compares the C++ with PyTorch, under each set; PyTorch's own variants, eager and graphs, do not depend on it, and what other
# programs' models need of the C++ is in the variants of test_networks and test_runner. Trained models translate under the sets
# that most CPUs have: int8 gives the same sums in all.
SETS := $(BIN)/python -c 'from model.backends.native import kernel_names; print(*kernel_names()[1:])'
SET_TESTS := $(addprefix tests/,model/backends/test_networks.py model/test_runner.py model/test_inspection.py \
	model/decoding/test_aligned_hypotheses.py)
TRAINED_TESTS := $(addprefix tests/end_to_end/,test_bundled_checkpoint.py test_markup.py test_readme_examples.py)
test-sets: $(TESTING) ## run the tests of the C++ under each further instruction set of this CPU (a quarter of a minute for each)
	mkdir -p build
	$(SETS) | tr ' ' '\n' | xargs -P 2 -I {} sh -c '\
		case {} in vnni|avx2) trained="$(TRAINED_TESTS)";; esac; DRAGOMAN_INSTRUCTION_SET={} $(BIN)/pytest \
			$(SET_TESTS) $$trained -k "not eager and not graphs and not cache_and_schedule" > build/test-set-{}.txt 2>&1; \
		code=$$?; echo "instruction set: {}"; cat build/test-set-{}.txt; exit $$code'

lint: $(LINTING) ## check style, types and who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

tables: $(SERVING) ## write the tables of settings, metrics, fields and errors into docs/
	$(BIN)/python -m docs.tables

docs: .venv/with-docs ## build the documentation site in build/site; a broken link or an old table fails
	$(BIN)/python -m docs.tables --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

docs-serve: .venv/with-docs ## show the documentation site at http://127.0.0.1:8001
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --dev-addr 127.0.0.1:8001

train: $(TRAINING) ## train RECIPE=recipes/toy.toml in RUN=runs/toy, or go on with that run
	$(BIN)/dragoman train $(RECIPE) --run $(RUN)

# One wheel serves every Python from 3.11 on. Its C++ needs glibc 2.34, which `auditwheel show` confirms.
WHEEL = rm -rf build/lib* build/bdist* && $(BIN)/python -m build --quiet --wheel --outdir build/wheels
wheels: .venv/with-supply ## build a wheel with the compiled library for x86-64 in build/wheels
	$(WHEEL) -C--build-option=--plat-name=manylinux_2_34_x86_64
	$(BIN)/auditwheel show build/wheels/*_x86_64.whl

ARM := aarch64-linux-gnu
wheel-arm: export CC = $(ARM)-gcc
wheel-arm: export CXX = $(ARM)-g++
wheel-arm: export LDSHARED = $(ARM)-gcc -shared
wheel-arm: export LDCXXSHARED = $(ARM)-g++ -shared
wheel-arm: export _PYTHON_HOST_PLATFORM = linux-aarch64
wheel-arm: .venv/with-supply ## the same for 64-bit Arm (Debian's package g++-aarch64-linux-gnu)
	$(WHEEL) -C--build-option=--plat-name=manylinux_2_34_aarch64

native-check: $(TESTING) ## build the C++ with warnings as errors, and run it and the GPU's kernels under sanitizers (7 minutes; needs g++)
	$(MAKE) -C tests/native BUILD=$(CURDIR)/build/native-check
	OMP_NUM_THREADS=1 KERNEL_FLAGS="-fsanitize=thread -g" TSAN_OPTIONS=exitcode=66 LD_PRELOAD=$$($(CXX) -print-file-name=libtsan.so) \
		$(BIN)/python -m pytest -s --timeout 0 tests/model/backends/test_kernels.py -k "threads or ranked or loop"

native-check-arm: ## the same for 64-bit Arm, emulated (5 minutes; needs g++-aarch64-linux-gnu and qemu-user)
	$(MAKE) -C tests/native BUILD=$(CURDIR)/build/native-check ROUNDS=2 arm

gpu-check: $(GPU_PACKED:.zip=) ## what only a GPU can tell, in five minutes, with GPU_PYTHON=python3; figures in build/gpu-check.jsonl
	$(GPU_PACKED:%.zip=PYTHONPATH=%) $(GPU_PYTHON) -m benchmarks.gpu --device $(GPU_DEVICE)

gpu-pack: ## for a GPU machine without network: pack what gpu-check needs there in build/gpu-site.zip
	$(PYTHON) -m benchmarks.gpu.pack

build/gpu-site: build/gpu-site.zip
	rm -rf $@
	$(GPU_PYTHON) -m zipfile -e $< $@

observe-test: ## check and test the rules of Prometheus (needs promtool, of Debian's package prometheus)
	promtool check config deploy/prometheus/prometheus.yml
	promtool test rules tests/deploy/rules_test.yml

marian-test: $(TESTING) ## compare Marian's models with Marian itself (5 minutes; downloads pymarian, 600 MB, for x86-64)
	$(BIN)/pip install pymarian==1.12.31
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/pytest --timeout 0 tests/model/importers/marian_itself.py

CLIENT_TESTS := python_clients isolated_clients libretranslate_tests
clients-test: .venv/with-clients ## try real clients of other APIs (2 minutes; downloads them; npm for some)
	$(BIN)/pytest --timeout 600 -rs $(CLIENT_TESTS:%=tests/clients/%.py)

fuzz: $(TESTING) ## CASES=20000 of generated requests, EXAMPLES of messages and texts, MUTATIONS of files
	DRAGOMAN_FUZZ_CASES=$(CASES) DRAGOMAN_FUZZ_EXAMPLES=$(EXAMPLES) DRAGOMAN_FUZZ_MUTATIONS=$(MUTATIONS) DRAGOMAN_FUZZ_SEED=$(SEED) \
		$(BIN)/pytest --timeout 0 --hypothesis-profile fuzz --hypothesis-seed $(SEED) tests/fuzz

prices: $(TESTING) ## measure the CPU time that each kind of request takes for a charged character (2 minutes)
	$(BIN)/python -m tests.fuzz.prices

redis-test: $(TESTING) ## count limits in a real Redis (half a minute; needs redis-server)
	$(BIN)/pytest tests/deploy/redis_limits.py

proxy-test: $(TESTING) ## try deploy/nginx.conf and dragoman.service (half a minute; needs nginx and systemd)
	$(BIN)/pytest tests/deploy/nginx_proxy.py

LOCKED := deploy/requirements.txt
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade --no-header --no-annotate --generate-hashes

lock: .venv/with-supply ## renew the versions and hashes of the image's packages in deploy/requirements.txt and build-requirements.txt
	mkdir -p build
	$(LOCK) --extra otel --extra redis pyproject.toml --output-file $(LOCKED)
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['build-system']['requires'], sep='\n')" \
	    > build/build-system.txt
	$(LOCK) build/build-system.txt --output-file deploy/build-requirements.txt

IMAGE_PACKAGES := build/image-packages.txt
$(IMAGE_PACKAGES): $(LOCKED) pyproject.toml
	mkdir -p $(@D)
	{ cat $(LOCKED); sed -n 's/^ *"\(torch==[0-9.]*\)",$$/\1/p' pyproject.toml; } > $@

audit: .venv/with-supply $(IMAGE_PACKAGES) ## look for known holes in the image's packages (asks PyPI)
	$(BIN)/pip-audit --strict --requirement $(IMAGE_PACKAGES) --disable-pip --no-deps

sbom: .venv/with-supply $(IMAGE_PACKAGES) ## write the image's packages to build/sbom.json (CycloneDX)
	$(BIN)/cyclonedx-py requirements $(IMAGE_PACKAGES) --pyproject pyproject.toml --mc-type application --output-file build/sbom.json

licences: .venv/with-supply $(IMAGE_PACKAGES) ## write the licences of the image's packages to build/licences.md
	$(BIN)/pip-licenses --python $(BIN)/python --with-system --format markdown --with-urls --output-file build/licences.md \
	    --packages $$(sed -n 's/^\([a-z0-9][a-z0-9._-]*\)==.*/\1/p' $(IMAGE_PACKAGES))

ray-test: $(RAY) $(TESTING) ## run the server, and a corpus, on a real Ray cluster on this machine (some minutes)
	$(BIN)/pytest --timeout 1200 tests/deploy/replicas.py tests/deploy/corpora.py

browser-test: .venv/with-browser ## check the page's types, and drive it in Chromium (3 minutes; chromium, node)
	npx --yes --package typescript@5 tsc --project tests/browser
	$(BIN)/pytest tests/browser/translate.py tests/browser/more.py tests/browser/parts.py tests/browser/appearance.py \
		tests/browser/access.py tests/browser/rude.py

page-images: .venv/with-browser ## make the page's pictures in docs/images from a server at HOST:PORT (chromium)
	$(BIN)/python -m docs.pictures http://$(or $(HOST),127.0.0.1):$(or $(PORT),8000)/

# In a mount namespace of its own: crun refuses a machine that has both versions of cgroups.
container-test: $(TESTING) ## build the image, run it, compose it (5 minutes; root, podman)
	unshare --mount sh -c 'umount --lazy /sys/fs/cgroup/unified 2>/dev/null; exec $(BIN)/pytest --timeout 1200 tests/deploy/container.py'

bench: $(TESTING) ## measure batching policies, the server under load, and short sentences among long ones (half an hour)
	$(BIN)/python -m benchmarks.policies
	$(BIN)/python -m benchmarks.load -- --max-waiting-sentences 128
	$(BIN)/python -m benchmarks.short_among_long

bench-loop: $(TESTING) ## measure how long the largest requests keep the event loop busy; over 50 ms fails (10 minutes)
	$(BIN)/python -m benchmarks.event_loop

soak: $(TESTING) ## load a server for MINUTES=60 over every API; what leaks or goes wrong?
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

bench-engines: $(TESTING) ## compare with CTranslate2 and Transformers: engines, services, latency (20 minutes)
	$(BIN)/python -m benchmarks.engines --shape bundled --rounds 3
	$(BIN)/python -m benchmarks.engines --shape opus --rounds 3
	$(BIN)/python -m benchmarks.service
	$(BIN)/python -m benchmarks.latency
