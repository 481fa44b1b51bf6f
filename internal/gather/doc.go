// Package gather writes the items of many callers in one batch.
//
// # Nouns
//
// A [Gatherer] is asked to write items, one by each caller. A batch is one write of several.
//
// # Rules
//
// One write runs at a time. A caller that finds none writes at once. Callers that come during
// a write wait, and the first of them writes the items of all in the next batch. So a single
// caller never waits for others, and many share a commit.
//
// After a batch that failed, or did not write all of its items, each caller writes its own
// item alone, under its own context. No item is blamed for another.
//
// # Caveats
//
// An item may be written twice, as after a COMMIT without an answer.
package gather
