// Package jsontext reads values from JSON and writes JSON in a canonical form, without
// decoding it: numbers keep their digits, and invalid Unicode is noticed.
//
// # Nouns
//
// A [Path] leads to a value inside a document. The canonical form of a document has its
// members sorted, no white space, and each character unescaped where JSON allows it.
//
// # Rules
//
// The canonical form of a document never changes: hashes of it are stored.
package jsontext
