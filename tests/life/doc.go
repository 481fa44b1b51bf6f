// Package life compares the lives of messages with a model: whatever order things
// happen in, a message is where the model says, and was applied as often.
//
// # Nouns
//
// A life is what happens to one key: it is delivered (once, three times at once, or with
// another payload under the same id), its handler succeeds, fails, panics or puts it
// off, it waits, becomes due, dies, is redriven (also twice at once, or under a new key),
// discarded, grows old, is pruned, and comes again. The model is a few pure functions
// (model_test.go); the world is a real consumer on a real database, reached through the
// public packages alone (world_test.go).
//
// # Rules
//
// After each step both agree on: the inbox state, the attempts, the letters by class and
// state, the committed effects, and how often the handler ran. A run ends with the
// invariant check of the store. Steps and their order are drawn by rapid from a fixed
// seed, so a run can be repeated:
//
//	go test ./tests/life                              # 10 s on each database
//	go test ./tests/life -life.for=10m -rapid.seed=7  # more, elsewhere
//
// A failure is shrunk to the fewest steps that show it, which are then printed.
//
// # Caveats
//
// Steps come one after the other, because the model has one answer for each. What
// happens at once is within a step; crashes are those of tests/torture.
package life
