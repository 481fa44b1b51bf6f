// Package header contains how the headers of a message are found, and what those mean that
// more than one package reads: its content type, and the attributes of a CloudEvent.
//
// Rules: a header of exactly the name that is looked for comes before those whose names
// differ in case, and the order of a map never matters.
package header
