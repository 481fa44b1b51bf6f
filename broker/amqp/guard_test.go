package amqp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"testing/iotest"
)

// piped is a connection that reads from r.
type piped struct {
	net.Conn
	io.Reader
}

// Read implements net.Conn.
func (p piped) Read(b []byte) (int, error) { return p.Reader.Read(b) }

func frame(kind byte, payload []byte) []byte {
	b := []byte{kind, 0, 1}
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	return append(append(b, payload...), 0xCE)
}

// content is the payload of a content header with these fields as headers, a content
// type before them and a message-id behind.
func content(fields []byte) []byte {
	b := make([]byte, 12)
	b = binary.BigEndian.AppendUint16(b, hasContentType|hasHeaders|1<<7)
	b = append(b, 4, 't', 'e', 'x', 't')
	b = binary.BigEndian.AppendUint32(b, uint32(len(fields)))
	b = append(b, fields...)
	return append(b, 2, 'i', 'd')
}

// nested is a table within a table, that many times.
func nested(depth int) (b []byte) {
	for range depth {
		inner := b
		b = binary.BigEndian.AppendUint32([]byte{1, 'n', 'F'}, uint32(len(inner)))
		b = append(b, inner...)
	}
	return b
}

// Trap: the client ends the connection for such headers, and the broker sends them again
// first thing over the next. Guard: guard.
//
//evidence:amqp
func TestGuardReplacesWhatTheClientCannotRead(t *testing.T) {
	many := bytes.Repeat([]byte{1, 'n', 'V'}, maxFields+1)
	for name, c := range map[string]struct {
		fields []byte
		same   bool
	}{
		"none":             {nil, true},
		"text":             {[]byte("\x01nS\x00\x00\x00\x01v"), true},
		"array of numbers": {[]byte("\x01nA\x00\x00\x00\x04b\x01b\x02"), true},
		"deep enough":      {nested(maxNesting), true},
		"too deep":         {nested(maxNesting + 2), false},
		"many":             {many[:3*maxFields], true},
		"too many":         {many, false},
		"unknown type":     {[]byte("\x01n?\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), false},
		"cut off":          {append(bytes.Repeat([]byte("\x01nV"), 20), "\x01nS\x00\x00\x00\x09v"...), false},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := frame(1, []byte("method")), frame(3, bytes.Repeat([]byte("body"), 20_000))
			middle := frame(contentHeader, content(c.fields))
			wire := append(append(append([]byte(nil), before...), middle...), after...)
			for how, r := range map[string]io.Reader{"whole": bytes.NewReader(wire), "byte by byte": iotest.OneByteReader(bytes.NewReader(wire))} {
				got, err := io.ReadAll(newGuard(piped{Reader: r}))
				if err != nil {
					t.Fatal(how, err)
				}
				if c.same {
					if !bytes.Equal(got, wire) {
						t.Errorf("%s: what the client can read was changed", how)
					}
					continue
				}
				got, ok := bytes.CutPrefix(got, before)
				got, ok2 := bytes.CutSuffix(got, after)
				if !ok || !ok2 || len(got) > len(middle) || !bytes.Contains(got, []byte(unreadableHeader)) {
					t.Fatalf("%s: the frames around are changed (%t, %t), or it grew from %d to %d", how, !ok, !ok2, len(middle), len(got))
				}
				if again := readable(append([]byte(nil), got...)); !bytes.Equal(again, got) {
					t.Errorf("%s: the client cannot read what it was replaced by", how)
				}
			}
		})
	}
}

// Rule: a deadline of the socket is an error of this read, and the next goes on.
func TestGuardGoesOnAfterAnError(t *testing.T) {
	wire := frame(1, []byte("method"))
	g := newGuard(piped{Reader: iotest.TimeoutReader(iotest.HalfReader(bytes.NewReader(wire)))})
	var got []byte
	for len(got) < len(wire) {
		p := make([]byte, 3)
		n, err := g.Read(p)
		got = append(got, p[:n]...)
		if err != nil && !errors.Is(err, iotest.ErrTimeout) {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, wire) {
		t.Errorf("got %q, want %q", got, wire)
	}
}

// FuzzGuard: whatever the broker sends, headers that are passed on are readable, and
// nothing panics.
func FuzzGuard(f *testing.F) {
	f.Add(content(nested(3)))
	f.Add(content([]byte("\x01nA\x00\x00\x00\x04b\x01b\x02")))
	f.Fuzz(func(t *testing.T, payload []byte) {
		made := readable(frame(contentHeader, payload))
		if again := readable(append([]byte(nil), made...)); !bytes.Equal(made, again) {
			t.Errorf("%q was replaced by %q, which is replaced again", payload, made)
		}
	})
}
