# SPDX-License-Identifier: BSD-3-Clause
#
# A thin front: meson builds, tools/ has the scripts. Each target also does its own set-up.
#
#   make build        the program at build/rhinet, the library, the examples
#   make demo         show what it does
#   make test         everything that a change must pass; ends with one line of counts
#   make asan, tsan   only the tests under these sanitizers
#   make hunt         every test 50 times, alone, beside load and beside a second copy of the suite;
#                     HUNT="--count 5 --suite dsm"; tools/test --hunt --help says more
#   make coverage     lines and branches that the tests reach, by room; fails below BRANCHES=85 of
#                     all, ROOM_BRANCHES=75 of a room; tools/coverage --help says more
#   make mutants      small mistakes, one by one: do the tests notice? ROOM=dsm for one list only
#   make soak         messages, locks and barriers while ranks are killed and stopped; MINUTES=10;
#                     again on shm, ofi and mixed with stops longer than the time-outs;
#                     random programs on shared memory and its models, all mutants; then
#                     100,000 random networks through router and checker; NETWORKS=100000;
#                     then messages on simulated clusters under faults; SEEDS=20000;
#                     then the file cache in random shapes, with faults and deaths
#   make bench        measure against this machine's own limits
#   make bench-peers  beside UCX, Open MPI and MPICH
#   make bench-route  routing beside OpenSM; PARTS="paths huge opensm-large" are the long ones
#   make site         documentation and manual as one static site, in build/site
#   make packages     Debian packages, into build-packages, tried in a clean root; needs root
#   make install      to PREFIX (default /usr/local), below DESTDIR if given
#   make wheel        the Python package as a wheel, in build/
#   make format       format all C files

PREFIX ?= /usr/local

all: build

build/build.ninja:
	@tools/setup build
	@mkdir -p build
	@meson setup build --prefix=$(PREFIX) >build/setup.log || { cat build/setup.log; exit 1; }

build: build/build.ninja
	@tools/setup build
	@ninja -C build

demo: build
	@tools/demo

test asan tsan:
	@tools/setup test
	@tools/test $(filter asan tsan,$@)

hunt:
	@tools/setup test
	@mkdir -p build
	@[ -e build/build.ninja ] || meson setup build -Dtests=enabled >build/setup.log || \
	    { cat build/setup.log; exit 1; }
	@ninja -C build
	@tools/test --hunt $(HUNT)

BRANCHES ?= 85
ROOM_BRANCHES ?= 75

coverage:
	@tools/setup test
	@tools/coverage --branches $(BRANCHES) --room-branches $(ROOM_BRANCHES)

mutants:
	@tools/setup test
	@tools/mutants $(addprefix --room ,$(ROOM))

MINUTES ?= 10
NETWORKS ?= 100000
SEEDS ?= 20000

soak: build
	@tests/msg/soak.py build/rhinet build/tests/msg/msg-soak --minutes $(MINUTES)
	@for nic in shm ofi mixed; do tests/msg/soak.py build/rhinet build/tests/msg/msg-soak \
	    --stalls --nic $$nic --seconds $$(($(MINUTES) * 20)) || exit 1; done
	@tests/model/check tests/model/dsm.pml NO_SERVE NO_INVALID LATE_COPY WANTED_FIRST NO_PASS \
	    NO_TELL
	@tests/model/check tests/model/dsm_threads.pml EARLY_GRANT NO_KEEP
	@for ranks in 2 3 5; do build/rhinet run -n $$ranks build/tests/dsm/dsm-random \
	    --seed $$(date +%s) --count $$(($(MINUTES) * 300)) --ops 200 || exit 1; done
	@ROUTE_TEST_NETWORKS=$(NETWORKS) build/tests/route/route-routing
	@build/tests/martini/martini-storm --seed 1000 --count $(SEEDS)
	@tests/cache/soak.py build/rhinet build/tests/cache/cache-reader \
		build/tests/cache/cache-change --minutes $(MINUTES)

bench: build
	build/rhinet bench rma
	build/rhinet bench msg

bench-peers: build
	@tools/setup peers
	@tools/bench-peers

bench-route: build
	@tools/setup test
	@tools/bench-route $(PARTS)

install: build
	meson configure build -Dprefix=$(PREFIX)
	DESTDIR=$(DESTDIR) meson install -C build
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || /sbin/ldconfig

packages:
	@tools/setup package
	@tools/package test

site:
	@tools/setup site
	@tools/site $(SITE)

wheel:
	@tools/wheel

format:
	@tools/setup test
	@tools/format

clean:
	rm -rf build build-clang build-asan build-tsan build-coverage

.PHONY: all build demo test asan tsan hunt coverage mutants soak bench bench-peers
.PHONY: bench-route install packages site wheel format clean
