// Package reporting has what a consumer's process says of itself: that it takes no messages, that a
// broker or the relay's sink is away, that a handler does not return. What lasts becomes a condition
// (package watching); the rest is sent at once.
package reporting
