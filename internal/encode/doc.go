// Package encode turns what came from outside into what any database's columns
// take, and back.
//
// Rules: metadata comes back byte for byte, whatever bytes its names and values
// hold; text that only people read is cleaned with loss; what identifies a message
// is never cleaned, only refused.
package encode
