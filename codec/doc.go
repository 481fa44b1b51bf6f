// Package codec turns payloads into values and back.
//
// # Nouns
//
// A [Codec] decodes a payload and encodes a value: [JSON] (the default) or [Raw]. An
// [Error] says where and why a payload could not be decoded. A [DeliveryDecoder] reads the
// headers too, as the codec of package cloudevents does. A [SelfDecoder] is a body that no
// codec reads.
//
// # Rules
//
// The error of a payload that cannot be decoded matches [ErrUndecodable] and contains
// nothing of the payload's content: only positions, names of Go fields and types. It goes
// into logs, dead letters and alerts, where payloads must not appear.
//
// A codec is safe for concurrent use.
//
// # Caveats
//
// JSON reads as encoding/json does: unknown members are skipped, and missing ones are zero
// ([Strict] and [Required] refuse both), a field's name matches in any case, the later one of
// two members of one name is used, and text that is not UTF-8 is replaced.
package codec
