// Package gather has one caller write for all that wait meanwhile.
//
// # Nouns
//
// A [Gatherer] is asked to write items, one by each caller. A flight is one write of
// several.
//
// # Rules
//
// One flight at a time: who comes while none is under way leads the next at once; what comes
// meanwhile leaves together, behind it. So a single caller never waits for others, and many
// share a commit.
//
// A flight that did not write all its items, or failed, says nothing about any of them: each
// caller then writes its own alone, under its own context. No item is blamed for another.
//
// # Caveats
//
// An item may be written twice, as after a COMMIT without an answer.
package gather
