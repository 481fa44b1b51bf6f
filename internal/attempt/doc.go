// Package attempt interprets the result of one run of a user's function: a panic, an
// error whose methods panic, an error caused by the end of its context.
package attempt
