# jueju: `make help` lists the targets.

VERSION := 0.1.0

# ---- choices: make NAME=value -------------------------------------------------------
MODE    ?= release
REAL    ?= float
V       ?= 0
MPI     ?= 0

BUILD   := build/$(MODE)-$(REAL)$(if $(filter 1,$(MPI)),-mpi)
PKGS    := jansson libutf8proc libxxhash opencc

# All processors, unless the user says otherwise with -j.
ifeq ($(MAKELEVEL)$(filter -j% --jobs%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
           -Wmissing-prototypes -Wvla
ifeq ($(WERROR),1)
WARN    += -Werror
endif
CC_VERSION := $(shell $(CC) --version 2>/dev/null | head -n 1)
ifneq ($(findstring clang,$(CC_VERSION)),)
# "omp simd" on a loop that clang cannot vectorise is no mistake.
WARN    += -Wno-pass-failed
endif

# Finite-math flags stay off: NaN checks must work (train/ stops on a loss that isn't finite).
MATHS   := -fno-math-errno -fno-trapping-math -ffp-contract=fast
OPT_release := -O3 -march=native
OPT_debug   := -O1 -g
OPT_asan    := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT_tsan    := -O1 -g -fsanitize=thread
ifeq ($(MODE),release)
# 512-bit vectors where the CPU has them; gcc and clang prefer 256 bits on their own.
OPT_release += $(shell $(CC) -mprefer-vector-width=512 -x c -fsyntax-only /dev/null 2>/dev/null && echo -mprefer-vector-width=512)
endif
DEFS_double := -DJUEJU_REAL_DOUBLE

# OpenBLAS: the OpenMP build, found by pkg-config where Debian keeps it (the serial build
# has no locks: two threads that call it at once get wrong numbers);
# its pthread build fights with OpenMP threads. Elsewhere what pkg-config calls openblas.
BLAS_DIR := $(firstword $(wildcard /usr/lib/*/openblas-openmp/pkgconfig))
BREW_DIR := $(firstword $(wildcard /opt/homebrew/opt/openblas/lib/pkgconfig /usr/local/opt/openblas/lib/pkgconfig))
PKG      := PKG_CONFIG_PATH="$(BLAS_DIR):$(BREW_DIR):$$PKG_CONFIG_PATH" pkg-config
NO_BUILD := help clean format lint
ifneq ($(filter-out $(NO_BUILD),$(or $(MAKECMDGOALS),all)),)
PKG_CFLAGS := $(shell $(PKG) --cflags $(PKGS) openblas 2>/dev/null)
PKG_LIBS   := $(shell $(PKG) --libs $(PKGS) openblas 2>/dev/null)
CMOCKA_LIBS := $(shell $(PKG) --libs cmocka 2>/dev/null)
endif
ifneq ($(BLAS_DIR),)
PKG_LIBS += -Wl,-rpath,$(patsubst %/pkgconfig,%,$(BLAS_DIR))
endif

# Open MPI's compiler wrapper knows where its header and library are.
MPICC    ?= mpicc
ifeq ($(MPI),1)
DIST     := mpi
PKG_LIBS += $(shell $(MPICC) --showme:link 2>/dev/null)
MPI_CFLAGS := $(patsubst -I%,-isystem %,$(shell $(MPICC) --showme:compile 2>/dev/null))
else
DIST     := none
endif

ALL_CFLAGS = $(CFLAGS) -std=c11 -D_GNU_SOURCE -I. $(OPT_$(MODE)) $(MATHS) $(DEFS_$(REAL)) -fopenmp $(WARN) $(PKG_CFLAGS) -MMD -MP
ALL_LIBS   = $(LDFLAGS) $(PKG_LIBS) -fopenmp -lm

ifeq ($(V),1)
Q :=
say =
else
Q := @
say = @printf '  %-4s %s\n' $(1) $(2)
endif

# ---- what is built from what --------------------------------------------------------
objects = $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard $(1))))

BASE_O  := $(call objects,model/base/*.c)
MODEL_O := $(filter-out $(BASE_O),$(call objects,model/*/*.c))
DATA_O  := $(call objects,data/*.c)
# Of the two that bring ranks together, one: MPI=1 swaps it.
DISTS   := $(BUILD)/train/dist_none.o $(BUILD)/train/dist_mpi.o
TRAIN_O := $(filter-out $(DISTS),$(call objects,train/*.c)) $(BUILD)/train/dist_$(DIST).o
CLI_O   := $(filter-out $(BUILD)/scripts/main.o,$(call objects,scripts/*.c)) $(BUILD)/scripts/heads_page_parts.o

LIB_base  := $(BUILD)/libbase.a
LIB_model := $(BUILD)/libmodel.a
LIB_data  := $(BUILD)/libdata.a
LIB_train := $(BUILD)/libtrain.a
LIB_cli   := $(BUILD)/libcli.a

# What the tests of a folder are linked with: the folder itself and what it may include.
LINK_base    := $(LIB_base)
LINK_model   := $(LIB_model) $(LIB_base)
LINK_data    := $(LIB_data) $(LIB_base)
LINK_train   := $(LIB_train) $(LIB_data) $(LIB_model) $(LIB_base)
LINK_scripts := $(LIB_cli) $(LINK_train)

PROGRAM := $(BUILD)/jueju

# Test programs of this build; in the double build those of model/, where derivations are
# checked, and the gradient tests of train/.
TEST_C_float  := tests/*/test_*.c
TEST_C_double := tests/model/test_*.c tests/train/test_grad*.c
TESTS   := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard $(TEST_C_$(REAL)))))
CLI_TESTS := $(sort $(wildcard tests/cli/test_*.sh))

all: $(PROGRAM)  ## build build/jueju (MODE=release|debug|asan|tsan, REAL=float|double, MPI=1)
ifeq ($(BUILD),build/release-float)
	@ln -sfn release-float/jueju build/jueju
	@$(MAKE) $(QUIET) all REAL=double BUILD=$(DOUBLE_BUILD)
endif

$(LIB_base): $(BASE_O)
$(LIB_model): $(MODEL_O)
$(LIB_data): $(DATA_O)
$(LIB_train): $(TRAIN_O)
$(LIB_cli): $(CLI_O)
$(LIB_base) $(LIB_model) $(LIB_data) $(LIB_train) $(LIB_cli): $(BUILD)/sources.stamp
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(filter %.o,$^)

$(PROGRAM): $(BUILD)/scripts/main.o $(LINK_scripts)
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $(filter %.o %.a,$^) $(ALL_LIBS)

$(BUILD)/scripts/main.o: EXTRA_FLAGS := -DJUEJU_VERSION='"$(VERSION)"'
# The commit that a line of the benchmark's CSV was measured at.
$(BUILD)/scripts/cmd_bench.o: EXTRA_FLAGS := -DJUEJU_COMMIT='"$(shell git rev-parse --short HEAD 2>/dev/null)"'
$(BUILD)/scripts/cmd_bench.o: $(wildcard .git/logs/HEAD)

$(BUILD)/train/dist_mpi.o: EXTRA_FLAGS := $(MPI_CFLAGS)

$(BUILD)/%.o: %.c $(BUILD)/flags.stamp
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(EXTRA_FLAGS) -c -o $@ $<

# The page of jueju heads --html: its parts as arrays of bytes, scripts/heads_page.h.
PAGE_PARTS := $(addprefix scripts/heads_page,.html .css _maps.js .js)
$(BUILD)/scripts/heads_page_parts.c: $(PAGE_PARTS)
	@mkdir -p $(@D)
	$(Q){ echo '#include "scripts/heads_page.h"'; \
	for part in $(PAGE_PARTS); do \
	    name=$$(basename $$part | tr a-z. A-Z_); \
	    echo "const char $$name[] = {"; \
	    od -An -v -tx1 $$part | sed 's/ *\([0-9a-f][0-9a-f]\)/(char)0x\1,/g'; \
	    echo '0};'; \
	done; } >$@.tmp && mv $@.tmp $@

$(BUILD)/scripts/heads_page_parts.o: $(BUILD)/scripts/heads_page_parts.c $(BUILD)/flags.stamp
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# One rule a folder, so that a test is linked with no more than its folder may use.
define test_rule
$(BUILD)/tests/$(1)/test_%: $(BUILD)/tests/$(1)/test_%.o $$(LINK_$(1))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(ALL_CFLAGS) -o $$@ $$(filter %.o %.a,$$^) $$(CMOCKA_LIBS) $$(ALL_LIBS)
endef
$(foreach folder,base model data train scripts,$(eval $(call test_rule,$(folder))))

# Stamps change only when their text does: other flags or another compiler rebuild all,
# a source that came or went rebuilds the archives.
quoted = '$(subst ','\'',$(1))'
define stamp
	@mkdir -p $(@D)
	@printf '%s\n' $(call quoted,$(1)) | cmp -s - $@ || printf '%s\n' $(call quoted,$(1)) >$@
endef

$(BUILD)/flags.stamp: FORCE
	@CC=$(call quoted,$(CC)) scripts/deps.sh --check build $(if $(filter 1,$(MPI)),mpi)
	$(call stamp,$(VERSION) $(CC_VERSION) $(CC) $(ALL_CFLAGS) $(MPI_CFLAGS) $(ALL_LIBS))

$(BUILD)/sources.stamp: FORCE
	$(call stamp,$(BASE_O) $(MODEL_O) $(DATA_O) $(TRAIN_O) $(CLI_O))

# The build in double beside this one: for derivations, where float is too coarse.
DOUBLE_BUILD := $(if $(filter %-float,$(BUILD)),$(BUILD:%-float=%-double),$(BUILD)-double)

# ---- the ways to use it -------------------------------------------------------------
# make exports NAME=value of its command line to what it runs: the scripts read them there.
QUIET := --no-print-directory

gradcheck:  ## every gradient against central differences, in double (ARGS= for jueju gradcheck)
	@scripts/deps.sh build
	@$(MAKE) $(QUIET) all REAL=double BUILD=$(DOUBLE_BUILD) >&2
	@$(DOUBLE_BUILD)/jueju gradcheck $(ARGS)

train:  ## train on the Tang poems; FRESH=1 starts anew, ARGS="..." for jueju train
	@MAKE=$(call quoted,$(MAKE_COMMAND)) BUILD=$(BUILD) scripts/train.sh default

quick:  ## the two-minute version of train
	@MAKE=$(call quoted,$(MAKE_COMMAND)) BUILD=$(BUILD) scripts/train.sh quick

sample:  ## poems from the newest checkpoint: PROMPT= N= SEED= ARGS=
	@scripts/deps.sh build
	@$(MAKE) $(QUIET) all >&2
	@$(PROGRAM) sample $${PROMPT:+"--prompt=$$PROMPT"} $${N:+-n "$$N"} $${SEED:+--seed "$$SEED"} $(ARGS)

# ---- tests --------------------------------------------------------------------------

# The program that several hosts can share, for its test; only where mpicc is.
MPI_PROGRAM := $(if $(filter release-float,$(MODE)-$(REAL)),$(if $(shell command -v $(MPICC) 2>/dev/null),$(BUILD)-mpi/jueju))

test:  ## all tests, gradient tests in double (WERROR=1: warnings are errors)
	@scripts/deps.sh build test
	@-$(MAKE) $(QUIET) -k test-programs
	@-$(MAKE) $(QUIET) -k test-programs REAL=double BUILD=$(DOUBLE_BUILD)
ifneq ($(MPI_PROGRAM),)
	@-$(MAKE) $(QUIET) -k all MPI=1 BUILD=$(BUILD)-mpi
endif
	@JUEJU=$(PROGRAM) JUEJU_MPI=$(MPI_PROGRAM) scripts/run_tests.sh $(TESTS) \
	    $$($(MAKE) -s $(QUIET) print-tests REAL=double BUILD=$(DOUBLE_BUILD)) $(CLI_TESTS)

test-programs: $(TESTS) all

print-tests:
	@echo $(TESTS)

check-asan:  ## the tests under the address and undefined-behaviour sanitizers
	@$(MAKE) $(QUIET) test MODE=asan BUILD=build/asan-float

# clang's libomp brings archer, which tells the sanitizer of OpenMP's barriers and locks; the
# insides of libomp itself are not instrumented.
check-tsan: export TSAN_OPTIONS = ignore_noninstrumented_modules=1 allocator_may_return_null=1
check-tsan:  ## the tests under the thread sanitizer, built by clang
	@scripts/deps.sh clang
	@$(MAKE) $(QUIET) test MODE=tsan CC=clang BUILD=build/tsan-float

browser: all  ## the page of jueju heads in chromium (SHOTS=FOLDER keeps pictures)
	@JUEJU=$(PROGRAM) SHOTS=$(SHOTS) tests/browser/test_page.sh

# ---- speed --------------------------------------------------------------------------
bench:  ## tokens a second, phase by phase, against this machine's limits; a line to the CSV
	@scripts/deps.sh build
	@$(MAKE) $(QUIET) all >&2
	@$(PROGRAM) bench --csv tests/bench/results.csv $(ARGS)

peers:  ## check and race against PyTorch (python3-torch must be there)
	@$(MAKE) $(QUIET) all >&2
	@JUEJU=$(PROGRAM) tests/bench/peers.sh

interop:  ## what llama.cpp and Hugging Face's tokenizers make of our files (npm is needed)
	@scripts/deps.sh build
	@$(MAKE) $(QUIET) all >&2
	@JUEJU=$(PROGRAM) tests/interop/run.sh

# ---- housekeeping -------------------------------------------------------------------
format:  ## clang-format every source file
	clang-format -i $(shell git ls-files -co --exclude-standard '*.c' '*.h')

lint:  ## clang-format, clang-tidy, cppcheck and shellcheck without changing anything
	@scripts/lint.sh

clean:  ## remove everything that was built
	rm -rf build

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*##  */\1\t/p; s/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

.PHONY: all gradcheck train quick sample test test-programs print-tests browser check-asan check-tsan bench peers interop format lint clean help FORCE
.SECONDARY:

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
