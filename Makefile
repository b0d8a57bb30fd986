# demo: the whole job on a real pair behind a router; ENGINE=postgresql (default) or mysql
# test: every test, with real servers
# matrix: every fault of the sample router, and what the analyzer makes of it; ENGINE=mysql or postgresql for one only
# bench: speed against peers, as ratios                            lint: formatting, clippy, rustdoc
# install: the three tools into PREFIX (default /usr/local)
#
# Everything is built with one profile, so that DataFusion and PostgreSQL's parser are built once.

CARGO ?= cargo
PREFIX ?= /usr/local
ENGINE ?= postgresql
CARGO_TARGET_DIR ?= $(CURDIR)/target
export CARGO CARGO_TARGET_DIR

RELEASE = --release --workspace --locked

.PHONY: demo test matrix bench lint install build prepare

demo: build
	ENGINE=$(ENGINE) samples/demo.sh

test: build
	$(CARGO) test $(RELEASE)

matrix: build
	$(CARGO_TARGET_DIR)/release/splitproof-matrix $(if $(filter command line environment,$(origin ENGINE)),--engine $(ENGINE))

bench: build
	$(CARGO_TARGET_DIR)/release/splitproof-bench --json $(CARGO_TARGET_DIR)/bench.json

lint: prepare
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(RELEASE) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(RELEASE) --no-deps

install: build
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(addprefix $(CARGO_TARGET_DIR)/release/splitproof-,capture replay analyze) $(DESTDIR)$(PREFIX)/bin

build: prepare
	$(CARGO) build $(RELEASE) --all-targets

# The Debian packages that are missing, and a look for Rust.
prepare:
	@samples/prepare.sh
