package flow

// Payload returns the payload of a message from a broker that knows no nil: clients give nil
// for no bytes, which is an empty payload and no tombstone.
func Payload(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
