// Package dispatch passes deliveries to the workers that process them.
//
// # Nouns
//
// A [Dispatcher] serves one handler. Its [Queue] holds tasks, those of one order key in
// order of arrival, and returns batches so that only one worker at a time works on an
// order key. The [Inflight] set keeps two deliveries of one message apart without the
// database. A [Budget] bounds the messages in flight.
//
// # Rules
//
// While one batch commits, arriving tasks collect in the queue, and the next transaction
// takes them all. At low load a message is processed at once, in a batch of one.
//
// # Caveats
//
// Order is kept within the process. Across processes the source must keep it.
package dispatch
