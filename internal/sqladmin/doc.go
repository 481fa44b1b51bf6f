// Package sqladmin is what the two drivers share of the tables' work for operators: rehearsals,
// messages of the backlog that a person moves, and the limits of both.
package sqladmin
