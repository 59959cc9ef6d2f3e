# The commands of this project. Each is one line of work; what they need is installed by the scripts in tests/setup.

PYTHON := target/py/bin/python
RELEASE := $(CURDIR)/target/release/threadkeep
SOAK := FUZZ_SECONDS=3200 ALIAS_IDS=10000 UPGRADE_THREADS=100000 KILLS=20 DATABASE_SHUTDOWNS=5 COMMITS_BETWEEN_FAULTS=300 NETWORK_SECONDS=1800 RESTART_SECONDS=10 CONCURRENCY_SECONDS=60 NESTED_TASKS=1000 LARGE_VALUE_MIB=200 LIST_THREADS=100000 LIST_STEPS=10000 LIST_FILES=50000 LIST_ITEMS=10000 DIFFERENTIAL_EXAMPLES=60 ROUND_TRIPS=300 DERANDOMIZED=0 SCAN_ITEMS=10000 STALL_CHANGES=200000 STALL_GROWTH_MIB_MAX=48 VECTORS=50000 CONTENT_MIB=1024 WORKSPACE_MIB=100 SCHEMATHESIS_REQUESTS=50000 DAMAGES=200 SNAPSHOT_SEEDS=8 SNAPSHOT_SIZE=1000 HOSTILE_SECONDS=1800 ALONE_TURN_SECONDS_MAX=5 TURN_SECONDS_MAX=5 MEMORY_BODY_MIB=24 MEMORY_TURNS=30

.PHONY: run test check matrix image dist screenshots demo demo-warm-sandbox bench soak lint pin release earlier npm-package compile \
	setup setup-system setup-python setup-weights setup-node setup-postgres setup-object-store setup-chromium \
	setup-newest-python setup-newest-node setup-openapi setup-deploy setup-dev-server setup-docs

run: ## serve on the embedded database
	cargo run --release --locked -- serve

test: ## everything: formatting, lints, types, Rust tests, Python and JavaScript tests on both engines
	$(MAKE) --jobs 4 --no-print-directory --output-sync=line setup compile
	$(PYTHON) tests/setup/run_tests.py

lint: setup-python setup-node setup-docs ## only formatting, lints, types and the pages of docs/
	$(PYTHON) tests/setup/run_tests.py --only lint

check: setup-python setup-node setup-docs ## what a change is tried with first: lints, types, unit tests, the contract on SQLite
	$(PYTHON) tests/setup/run_tests.py --only check

matrix: setup ## the suites of both languages with the newest peers from the package indexes, and docs/versions.md
	cargo build --locked
	$(PYTHON) tests/setup/matrix.py

demo: setup-python setup-node release ## deepagents agents, in Python and JavaScript, that remember after SIGKILL
	$(PYTHON) examples/deepagents_memory/run.py --binary $(RELEASE)
	if [ -d node_modules ]; then node examples/deepagents_memory_js/run.mjs --binary $(RELEASE); \
		else echo "no Node.js 20 here: the JavaScript example did not run" >&2; fi

demo-warm-sandbox: setup-python setup-node release ## a sandbox that is killed comes back from its snapshot, with all that its agent knew
	$(PYTHON) examples/warm_sandbox/run.py --binary $(RELEASE)

image: ## the container image `threadkeep`, of the commit that is checked out
	git archive HEAD | docker build --tag threadkeep --file deploy/container/Dockerfile -

dist: setup-node ## packs the server: a wheel, npm packages, a tarball and a .deb in target/packages; builds for a long time
	deploy/packages/dist.sh

npm-package: setup-node ## packs the npm package: target/packages/threadkeep-*.tgz, to install into a project
	mkdir -p target/packages
	npm pack --ignore-scripts --silent --pack-destination target/packages ./clients/js

screenshots: setup-node setup-chromium ## the pictures of the console in its README, from the scenes of its tests
	cargo build --locked
	cd tests/js && THREADKEEP_TEST_PICTURES=$(CURDIR)/clients/console/docs npx vitest run console/pictures

bench: setup release ## speed and size against the Postgres savers, on one PostgreSQL with fsync on; instructions of a call
	THREADKEEP_BIN=$(RELEASE) $(PYTHON) clients/python/bench/instructions.py
	THREADKEEP_BIN=$(RELEASE) THREADKEEP_TEST_PG_BIN="$$(tests/setup/postgres.sh)" $(PYTHON) clients/python/bench/run.py
	if [ -d node_modules ]; then THREADKEEP_BIN=$(RELEASE) THREADKEEP_TEST_PG_BIN="$$(tests/setup/postgres.sh)" \
		node --import tsx clients/js/bench/run.ts && THREADKEEP_BIN=$(RELEASE) THREADKEEP_TEST_PG_BIN="$$(tests/setup/postgres.sh)" \
		node --import tsx clients/js/bench/calls.ts && THREADKEEP_BIN=$(RELEASE) THREADKEEP_TEST_PG_BIN="$$(tests/setup/postgres.sh)" \
		node --import tsx clients/js/bench/large_states.ts; \
		else echo "no Node.js 20 here: the JavaScript benchmark did not run" >&2; fi

soak: setup release earlier ## the fault and concurrency suites at full length, then eight hours of fuzzing
	env $(addprefix THREADKEEP_TEST_,$(SOAK)) THREADKEEP_BIN=$(RELEASE) \
		THREADKEEP_TEST_EARLIER_BIN=$(CURDIR)/target/earlier/release/threadkeep $(PYTHON) tests/setup/run_tests.py --only soak

pin: ## remake the pinned Python requirements
	tests/setup/pin.sh

release:
	cargo build --release --locked

# The commit whose program runs beside this one in the soak; it needs the history of the repository.
EARLIER := c35039e
earlier:
	[ -d target/earlier/source ] || git worktree add --detach target/earlier/source $(EARLIER)
	cd target/earlier/source && git checkout -q --detach $(EARLIER) && cargo build --release --locked --target-dir ..

# While packages are fetched. What does not compile, the tests tell. Cargo has its own jobs.
compile: setup-system
	-env -u MAKEFLAGS cargo test --locked --no-run

setup-system:
	tests/setup/system.sh

setup-python: setup-system
	tests/setup/python.sh

# Both are fetched with the pip of that environment.
setup-postgres setup-weights: setup-python

setup-postgres setup-weights setup-node setup-object-store setup-chromium setup-newest-python setup-newest-node setup-openapi setup-deploy setup-dev-server setup-docs: setup-system
	tests/setup/$(subst -,_,$(@:setup-%=%)).sh

setup: setup-python setup-postgres setup-weights setup-node setup-object-store setup-chromium setup-newest-python setup-newest-node setup-openapi setup-deploy setup-dev-server setup-docs
