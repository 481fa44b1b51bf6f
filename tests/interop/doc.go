// Package interop runs headrace with the official adapters of Watermill, as its Source, as
// its Sink, and at the other end of its own adapters:
//
//	make interop
//
// # Rules
//
// An official publisher sends every message twice, a consumer applies it and publishes an
// event, and an official subscriber reads that. The consumer's source and sink are the
// official ones or ours, in all four combinations. Each message takes effect once, and each
// event arrives with its id, its payload and its metadata.
//
// # Caveats
//
// It is a module of its own, so that no other module has its dependencies. broker/postgres
// has tables of its own, which the adapter of watermill-sql does not read.
package interop
