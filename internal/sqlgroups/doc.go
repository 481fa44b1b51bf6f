// Package sqlgroups contains the tables of the groups of dead letters: changes, counters, hours
// and builds.
//
// The rules for their statements are those of package sqlstore.
package sqlgroups
