// Package groups says what the dead letters of one handler with the same error fingerprint are
// together: how many, since when, since which build, and whether a person should look.
//
// # Nouns
//
// A [Group] has counters, a [State], and what people said of it: a mute, an assignee, a note, a
// link. A [Change] is a row that says how many letters a statement opened or closed. A [Build] is
// a version of the user's program; builds are ordered by when the consumer first started them.
//
// # Rules
//
// Statements that open or close letters append changes, and never meet at a counter. A process at
// a time adds the changes up ([Counter]); a view adds those that are left ([Reader]), so its
// numbers are exact at every moment, also while no process runs. The state of a group is decided
// by [Decide], a pure function, when changes are added up and every ten seconds. It may be late
// by as much, and does not move while no process runs.
//
// A group is resolved by a person, or when its last letter is closed and no message of it runs
// again. A letter that came after that makes it regressed, unless an older build wrote it: during
// a rollout old processes go on. Letters of the class cancelled belong to no group.
//
// # Caveats
//
// Builds are names that programs give. Where all are equal, or a letter has none, time alone
// decides. The last 60 minutes are read from two full hours, of which the older one counts in part.
package groups
