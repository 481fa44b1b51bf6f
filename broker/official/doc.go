// Package official completes Watermill's official adapters where a consumer needs more of
// them. It does not depend on them: what it takes are their own functions.
//
// # Caveats
//
// The adapters keep their own behaviour (docs/traps.md): watermill-kafka has one message of a
// partition in flight, for example. The packages beside this one are adapters without these
// limits.
package official
