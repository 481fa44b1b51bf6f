// Package sqladmin is what the two drivers share of the tables' work for operators: rehearsals,
// and messages of the backlog that a person moves.
package sqladmin
