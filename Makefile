# jueju: `make help` lists the targets.

# ---- choices: make NAME=value -------------------------------------------------------
MODE    ?= release
REAL    ?= float
V       ?= 0

BUILD   := build/$(MODE)-$(REAL)
PKGS    := jansson libutf8proc libxxhash opencc

WARN    := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
           -Wmissing-prototypes -Wvla
ifeq ($(WERROR),1)
WARN    += -Werror
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

# OpenBLAS: the serial or the OpenMP build, found by pkg-config where Debian keeps them.
BLAS_DIR := $(firstword $(wildcard /usr/lib/*/openblas-serial/pkgconfig /usr/lib/*/openblas-openmp/pkgconfig))
PKG      := PKG_CONFIG_PATH="$(BLAS_DIR):$$PKG_CONFIG_PATH" pkg-config
ifneq ($(MAKECMDGOALS),help)
PKG_CFLAGS := $(shell $(PKG) --cflags $(PKGS) openblas 2>/dev/null)
PKG_LIBS   := $(shell $(PKG) --libs $(PKGS) openblas 2>/dev/null)
CMOCKA_LIBS := $(shell $(PKG) --libs cmocka 2>/dev/null)
endif
ifneq ($(BLAS_DIR),)
PKG_LIBS += -Wl,-rpath,$(patsubst %/pkgconfig,%,$(BLAS_DIR))
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
objects = $(patsubst %.c,$(BUILD)/%.o,$(wildcard $(1)))

BASE_O  := $(call objects,model/base/*.c)
MODEL_O := $(filter-out $(BASE_O),$(call objects,model/*/*.c))
DATA_O  := $(call objects,data/*.c)
TRAIN_O := $(call objects,train/*.c)
CLI_O   := $(filter-out $(BUILD)/scripts/main.o,$(call objects,scripts/*.c))

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

TESTS   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/*/test_*.c))
PROGRAM := $(BUILD)/jueju

all: $(PROGRAM)  ## build build/jueju (MODE=release|debug|asan|tsan, REAL=float|double)
ifeq ($(MODE)-$(REAL),release-float)
	@ln -sfn $(MODE)-$(REAL)/jueju build/jueju
endif

$(LIB_base): $(BASE_O)
$(LIB_model): $(MODEL_O)
$(LIB_data): $(DATA_O)
$(LIB_train): $(TRAIN_O)
$(LIB_cli): $(CLI_O)
$(LIB_base) $(LIB_model) $(LIB_data) $(LIB_train) $(LIB_cli):
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(PROGRAM): $(BUILD)/scripts/main.o $(LINK_scripts)
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $^ $(ALL_LIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# One rule a folder, so that a test is linked with no more than its folder may use.
define test_rule
$(BUILD)/tests/$(1)/test_%: $(BUILD)/tests/$(1)/test_%.o $$(LINK_$(1))
	$$(call say,LD,$$@)
	$$(Q)$$(CC) -o $$@ $$^ $$(CMOCKA_LIBS) $$(ALL_LIBS)
endef
$(foreach folder,base model data train scripts,$(eval $(call test_rule,$(folder))))

clean:  ## remove everything that was built
	rm -rf build

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*##  */\1\t/p; s/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

.PHONY: all clean help
.SECONDARY:

-include $(shell find build/$(MODE)-$(REAL) -name '*.d' 2>/dev/null)
