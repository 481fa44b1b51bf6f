// Package sqlconditions contains the tables of conditions, and of what sinks know of them.
package sqlconditions
