// Package attempt makes sense of what one run of a user's function gave: a panic, an
// error whose methods panic, an error that came of the end of its context.
package attempt
