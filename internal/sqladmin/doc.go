// Package sqladmin is what the two drivers share of the tables' work for operators: rehearsals,
// messages of the backlog that a person moves, the limits of both, and letters that a person edits,
// restores or imports.
package sqladmin
