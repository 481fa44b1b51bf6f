// Package encode converts external data into a form that any database's columns accept,
// and back.
//
// Rules: metadata comes back byte for byte, whatever bytes its names and values contain;
// text that only people read is cleaned with loss; text that identifies a message is
// never cleaned, only rejected.
package encode
