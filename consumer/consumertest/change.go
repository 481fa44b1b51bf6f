package consumertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace"
)

// guarded calls f, and turns a panic into an error.
func guarded(f textFunc, d *headrace.Delivery) (text string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the function panicked: %v", v)
		}
	}()
	return f(d)
}

// apply changes d. The caller must not share d.
func (c Change) apply(d *headrace.Delivery) {
	switch c {
	case Redelivered:
		d.Attempt++
		d.ReceivedAt = d.ReceivedAt.Add(time.Hour)
	case Resent:
		d.ID = "0a1b2c3d-0000-4000-8000-" + fmt.Sprintf("%012x", len(d.ID)+1)
		d.Coordinates.Partition, d.Coordinates.Position = "7", d.Coordinates.Position+"99"
		d.ReceivedAt = d.ReceivedAt.Add(time.Minute)
	case MoreHeaders:
		for name, value := range addedHeaders {
			d.Metadata[name] = value
		}
		d.Trace = headrace.TraceFrom(d.Metadata)
	case HeaderCase:
		d.Metadata = recased(d.Metadata)
	case Reserialised:
		if again, ok := rewritten(d.Payload); ok {
			d.Payload = again
		}
	}
}

// addedHeaders are headers that brokers, proxies and tracers add.
var addedHeaders = map[string]string{
	headrace.TraceParentHeader: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	headrace.TraceStateHeader:  "vendor=1",
	"baggage":                  "k=v",
	"x-delivery-count":         "3",
	"x-request-id":             "6f1c",
	"Date":                     "Sat, 21 Nov 2026 12:00:00 GMT",
}

// recased writes each name in lower case, or in upper case if it is in lower case
// already. If names differ in case only, it changes nothing: the function decides which
// one counts.
func recased(metadata map[string]string) map[string]string {
	out := make(map[string]string, len(metadata))
	for name, value := range metadata {
		other := strings.ToLower(name)
		if other == name {
			other = strings.ToUpper(name)
		}
		out[other] = value
	}
	if len(out) != len(metadata) {
		return maps.Clone(metadata)
	}
	return out
}

// rewritten writes a JSON document as another program would.
func rewritten(payload []byte) ([]byte, bool) {
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil || !json.Valid(payload) || !utf8.Valid(payload) {
		return nil, false
	}
	var out bytes.Buffer
	write(&out, value, "\n")
	// Half of a surrogate pair is read as \ufffd: that would be another document.
	return out.Bytes(), !bytes.Contains(out.Bytes(), []byte(`\ufffd`))
}

// write writes value with the members of objects in descending order, one a line. It
// escapes every character of a string except ASCII letters and digits.
func write(out *bytes.Buffer, value any, line string) {
	switch v := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		slices.Reverse(names)
		out.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(line + "\t")
			writeString(out, name)
			out.WriteString(" : ")
			write(out, v[name], line+"\t")
		}
		out.WriteString(line + "}")
	case []any:
		out.WriteByte('[')
		for i, element := range v {
			if i > 0 {
				out.WriteString(" , ")
			}
			write(out, element, line+"\t")
		}
		out.WriteByte(']')
	case string:
		writeString(out, v)
	case json.Number:
		out.WriteString(v.String())
	default: // true, false, null
		fmt.Fprint(out, map[any]string{true: "true", false: "false", nil: "null"}[v])
	}
}

func writeString(out *bytes.Buffer, s string) {
	out.WriteByte('"')
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(out, `\u%04x`, r)
		}
	}
	out.WriteByte('"')
}
