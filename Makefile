# Every target is one command that can be run by hand; `make` alone lists them.
.DEFAULT_GOAL := help
.PHONY: help test long million race matrix fuzz planted torture interop browser pictures lint services-up services-down example

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "make %-14s %s\n", $$1, $$2}'

# The suites that make test leaves out: those of the second driver, of second kinds of queue, and of the store that fails on command.
SECOND = ^(TestConformancePool|TestConformanceFIFO|TestConformanceClassic|TestConformanceWrapped)$$|^TestPubSub$$/^queue.fifo$$

test: ## run all tests, some in a short form, with a PostgreSQL and brokers of their own
	@scripts/test -short -skip '$(SECOND)' ./...
	@echo 'In a short form: random models, tables of cases, a year of ticks. Left out: pgx, the second kinds of queue, a wrapped store. make long and make matrix run all of it.'

long: ## run all tests whole; PKG=./broker/sqs for some of them
	@scripts/test $(or $(PKG),./...)

million: ## look at each view, and measure the command's memory, with a million dead letters and ten million messages (8 GB, half an hour); LETTERS=100000 for fewer
	HEADRACE_TEST_LETTERS=$(or $(LETTERS),1000000) scripts/test -timeout 90m -p 1 -v -run '^(TestViews|TestMemory$$|TestSearchReadsFewPages$$)' ./cmd/headrace ./store/postgres

race: ## run the tests of the library with the race detector, models in a short form and one wait left out; ALL=1 for everything, HALF=1 or 2 for half
	@scripts/test -race $(if $(HALF),-run '$(if $(filter 1,$(HALF)),^Test[A-L]|^Example,^Test[M-Z])') $(if $(ALL),,-short -skip '^TestStopWhileTheNetworkIsFrozen$$') $$(go list ./... | grep -vE '/(cmd|examples|tests$(if $(ALL),,|broker|store/postgres|internal/fault))(/|$$)')

matrix: ## run the storage tests on PostgreSQL 18 and with pgx too; PART=1, 2 or 3 for one of these
	@PART=$(PART) scripts/matrix

fuzz: ## run each fuzz target for a short time: FUZZTIME=60s for longer
	@scripts/fuzz $(or $(FUZZTIME),10s)

planted: ## plant bugs in a copy of the tree; fails unless every one is found; PART=1/3 for a third
	@scripts/test -- go run ./tests/planted $(if $(PART),-part $(PART))

torture: ## kill, stop and cut off real processes, about 20 minutes: FAULTS=kill,zombie KILLS=1 for less
	go run ./tests/torture $(if $(FAULTS),-only $(FAULTS)) $(if $(KILLS),-kills $(KILLS))

interop: ## run headrace with Watermill's official adapters; downloads them
	@scripts/test --with 'kafka rabbitmq sqs nats redis' -- sh -c 'cd tests/interop && go vet ./... && go test -count=1 ./...'

browser: ## walk through the pages in Chromium; downloads it
	@scripts/test --with chromium -- sh -c 'cd tests/browser && go vet ./... && go test -count=1 ./...'

pictures: ## write docs/images anew, as the tests of make browser see the pages
	@scripts/test --with chromium -- sh -c 'cd tests/browser && go test -count=1 -run TestPictures . -pictures ../../docs/images'

lint: ## check format, go vet and staticcheck
	@unformatted=$$(gofmt -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then printf 'not formatted (gofmt -w):\n%s\n' "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...

services-up: ## start PostgreSQL for tests by hand, and print its variable
	@scripts/services up
	@scripts/services env

services-down: ## stop it and remove its data
	@scripts/services down

example: ## run the examples that need no server
	go run ./examples/quickstart
	go run ./examples/orders
	go run ./examples/router
	go run ./examples/nobroker
	go run ./examples/invoices
	go run ./examples/nightly
	go run ./examples/tickets
