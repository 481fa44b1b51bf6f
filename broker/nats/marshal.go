package nats

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"

	"github.com/headrace/headrace"
)

// marshal makes the record of m for subject.
func marshal(subject string, m *message.Message) *natsgo.Msg {
	record := natsgo.NewMsg(subject)
	record.Data = m.Payload
	var rest [][2][]byte
	for name, value := range m.Metadata {
		if plainHeader(name, value) {
			record.Header[name] = []string{value}
		} else {
			rest = append(rest, [2][]byte{[]byte(name), []byte(value)})
		}
	}
	if len(rest) > 0 { // sorted, so that a duplicate is equal
		slices.SortFunc(rest, func(a, b [2][]byte) int { return strings.Compare(string(a[0]), string(b[0])) })
		record.Header[restHeader] = []string{pack(rest)}
	}
	if key := headrace.ArrivalFrom(m.Context()).OrderKey; key != "" {
		record.Header[orderHeader] = []string{url.QueryEscape(key)}
	}
	if m.UUID != "" {
		record.Header[uuidHeader] = []string{m.UUID}
		if plainValue(m.UUID) {
			record.Header[natsgo.MsgIdHdr] = []string{repetitionID(record, m.UUID)}
		}
	}
	return record
}

// repetitionID is the id by which the stream detects duplicates: the message's id, and a
// hash of the whole record, so that a changed record or the copy of a dead letter is no
// duplicate. Only the trace context may differ, since it identifies the sender and not
// the content.
func repetitionID(record *natsgo.Msg, id string) string {
	sum := sha256.New()
	part := func(b []byte) {
		_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		_, _ = sum.Write(b)
	}
	part([]byte(record.Subject))
	part(record.Data)
	for _, name := range slices.Sorted(maps.Keys(record.Header)) {
		if name != headrace.TraceParentHeader && name != headrace.TraceStateHeader {
			part([]byte(name))
			part([]byte(strings.Join(record.Header[name], "\n")))
		}
	}
	return id + "/" + hex.EncodeToString(sum.Sum(nil)[:16])
}

// plainHeader reports whether a header can contain the entry unchanged, and has no
// meaning for a server or for us.
func plainHeader(name, value string) bool {
	if name == "" || len(name) > 4 && strings.EqualFold(name[:5], "Nats-") ||
		name == uuidHeader || name == restHeader || name == orderHeader || name == "Status" || name == "Description" {
		return false
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f || name[i] == ':' {
			return false
		}
	}
	return plainValue(value)
}

// plainValue reports whether value is received unchanged.
func plainValue(value string) bool {
	return strings.TrimSpace(value) == value && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' })
}
