// Package memsource is a message.Subscriber in memory, for tests and benchmarks:
// every delivery is handed over by the test and tells what became of it.
//
// It stands where a broker would only blur what is measured or checked: a real one
// decides by itself when to deliver again. Tests of brokers talk to real ones.
package memsource
