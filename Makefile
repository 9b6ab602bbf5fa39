# Thin on purpose: everything real is in CMake, CMakePresets.json and tools/.
#
#   make run     install what is missing, build, fetch a small model, serve it
#   make test    install what is missing, build, fetch test data, run every test
#   make run ARGS='--port 9001'    arguments for `vouch serve`
#   make test ARGS='-R tokenizer'  arguments for ctest
#   make asan | tsan               the tests under the sanitizers
#   make parity                    the parity suite, all prompts in all arms
#   make test-neon                 the kernels' tests for ARM, under qemu
#   make bench                     build and run the benchmarks
#   make compare                   build llama.cpp too, and run beside it
#   make format | lint             clang-format; format check and clang-tidy
#   make install PREFIX=/usr/local

PRESET ?= release
PREFIX ?= /usr/local
ARGS ?=
JOBS ?= $(shell nproc)

.PHONY: run test build parity asan tsan test-neon bench compare format lint lint-format lint-tidy \
	install clean dependencies

run: dependencies
	@tools/build $(PRESET) vouch
	@model=$$(tools/fetch-model) && exec build/$(PRESET)/cli/vouch serve \
	  --model "$$model" --model-name SmolLM2-135M-Instruct \
	  --config configs/run.toml $(ARGS)

build: dependencies
	@tools/build $(PRESET)

test: build
	@tools/fetch-test-data
	@ctest --preset $(PRESET) -j $(JOBS) $(ARGS)

parity: build
	@tools/fetch-test-data
	@VOUCH_PARITY=all build/$(PRESET)/tests/parity/test_parity

asan tsan:
	@$(MAKE) --no-print-directory test PRESET=$@

test-neon:
	@tools/test-neon $(ARGS)

bench:
	@$(MAKE) --no-print-directory build PRESET=bench
	@tools/fetch-model >/dev/null
	@bench/run build/bench $(ARGS)

compare:
	@$(MAKE) --no-print-directory build PRESET=bench
	@programs=$$(bench/build_llama_cpp) && \
	  python3 bench/compare_llama_cpp.py --llama-cpp "$$programs" $(ARGS)

format:
	@tools/lint --fix-format

lint: lint-format lint-tidy

lint-format:
	@tools/lint --format

lint-tidy: build
	@tools/lint --tidy build/$(PRESET)

install: build
	@cmake --install build/$(PRESET) --prefix $(PREFIX)

dependencies:
	@tools/install-dependencies

clean:
	@rm -rf build
