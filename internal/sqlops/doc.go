// Package sqlops contains the tables of a store that a message does not pass through:
// alerts, instances and their marks, pauses, rounds of pruning, the schema itself.
//
// The rules for their statements are those of package sqlstore.
package sqlops
