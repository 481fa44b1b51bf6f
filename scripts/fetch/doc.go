// Command fetch downloads the files of servers for tests, each with a known SHA-256:
//
//	go run ./scripts/fetch DIR URL < LIST
//
// # Nouns
//
// LIST has a line for each file, as sha256sum writes it: the sum and the path below URL. The
// file's own name is its name in DIR.
//
// # Rules
//
// DIR appears when every file is there and has its sum, and not before. It fails if DIR
// exists.
package main
