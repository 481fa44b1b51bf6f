// Package codec turns payloads into values and back.
//
// # Nouns
//
// A [Codec] decodes a payload and encodes a value: [JSON] (the default) or [Raw]. An
// [Error] says where and why a payload could not be decoded.
//
// # Rules
//
// The error of a payload that cannot be decoded matches [ErrUndecodable] and holds
// nothing of the payload's content: positions, names of Go fields and types only. It
// goes into logs, dead letters and alerts, and payloads do not.
//
// A codec is safe for concurrent use.
//
// # Caveats
//
// JSON reads as encoding/json does: a field's name matches in any case, of two
// members of one name the later one counts, and text that is no UTF-8 is replaced.
package codec
