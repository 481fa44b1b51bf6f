// Package unused finds options of a consumer that are set and have no effect.
//
// # Rules
//
// The error names the option, and says why it has no effect.
//
// A default that each handler overrides is no error: consumers of one program may share a
// Config, and a handler may come that overrides nothing. Run warns if it says which messages
// are the same, or their order.
package unused
