package encode

import (
	"crypto/sha256"
	"fmt"
	"strconv"
)

// IdempotencyKey returns the key for a call of another system: a UUID of version 8 with
// the beginning of the SHA-256 of the five parts, each as its length in decimal, a colon
// and its text. step names one of several calls, "" the only one. generation counts how
// often the system has said that it did nothing. The format never changes, because the
// other systems know the keys.
func IdempotencyKey(database, scope, key, step string, generation int) string {
	var text []byte
	for _, part := range []string{database, scope, key, step, strconv.Itoa(generation)} {
		text = strconv.AppendInt(text, int64(len(part)), 10)
		text = append(append(text, ':'), part...)
	}
	sum := sha256.Sum256(text)
	sum[6] = sum[6]&0x0f | 0x80 // version 8
	sum[8] = sum[8]&0x3f | 0x80 // variant of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
