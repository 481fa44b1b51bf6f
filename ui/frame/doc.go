// Package frame is what all pages have around what they show, and how their templates are read.
//
// # Nouns
//
// [Views] are the templates. A [Frame] is what a page is made of. [Typed] is what a person typed into a form of which
// nothing was done: it comes back with the page.
//
// # Rules
//
// No text that was typed is lost: what has no field on the page stands at its end, to be copied.
package frame
