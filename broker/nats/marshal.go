package nats

import (
	"hash/fnv"
	"net/url"
	"slices"
	"strconv"
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
	if len(rest) > 0 { // in an order, so that a repetition is the same
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

// repetitionID is what the stream knows a repetition by. Ids are unique to a stream there,
// so that subject and payload are in it: an event and the copy of its dead letter may have
// one id and one stream.
func repetitionID(record *natsgo.Msg, id string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(record.Subject))
	_, _ = sum.Write([]byte{0})
	_, _ = sum.Write(record.Data)
	return id + "/" + strconv.FormatUint(sum.Sum64(), 16)
}

// plainHeader reports whether a header holds the entry as it is, and means nothing to a
// server or to us.
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

// plainValue reports whether value comes back as it is.
func plainValue(value string) bool {
	return strings.TrimSpace(value) == value && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' })
}
