// Package dlq holds messages that were given up, and what a person can do with them:
// see why, send them again, or let them go.
package dlq
