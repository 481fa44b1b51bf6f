// Command torture kills, stops and cuts off real processes that run headrace, and then
// holds what they did against its own log of what was sent.
//
//	go run ./tests/torture                        every fault on both databases
//	go run ./tests/torture -only kill,backends    some
//	go run ./tests/torture -together -time 5m     all in one database, in a random order
//	go test ./tests/torture                       at small scale, as CI does
//
// # Nouns
//
// A scenario is a fresh database that goes through one fault, or several: package
// workload sends and handles, package nemesis breaks, package checker judges by the
// history. The source and the sink are package broker, in the parent process, which no
// fault reaches; package cluster starts PostgreSQL servers of its own.
//
// # Rules
//
// The history has a line for the begin and the end of each fault, and for each time that
// it took effect; one that took effect too rarely is a failure of the scenario. After
// the last fault everything must come to its end within two minutes without an act of
// a person; then what can be cured is redriven, and must come to its end too. The seed is
// printed, and every choice of the parent follows from it; what the scheduler makes of it
// does not. Nothing is run again until it passes.
//
// # Caveats
//
// The order of keys is not checked where the source gave them to another process while
// the first may live: nothing but the source can fence that. Invariants about the web
// page, alerts, roles and rolling upgrades (19 to 22, 24) and the ledger (10) are not
// checked here.
package main
