package amqp

import (
	"bufio"
	"encoding/binary"
	"net"
)

// guard reads the data before the client, and replaces headers for which the client would
// end the connection: the broker would send the same message first over the next
// connection, and so on. A message with replaced headers has unreadableHeader among them.
type guard struct {
	net.Conn
	in    *bufio.Reader
	ready []byte // for the client, before anything else
	pass  int    // bytes of the frame to pass on unchanged
	blind bool   // it is not the protocol that we know
}

// unreadableHeader contains the unreadable headers, as bytes without the last few.
const unreadableHeader = "headrace-unreadable-headers"

const (
	frameHead     = 7 // type, channel and length of what follows, without the end mark
	contentHeader = 2 // a frame's type
	// maxContentHeader is the largest frame that guard inspects. The broker sends none
	// above the agreed size.
	maxContentHeader = 1 << 20
)

func newGuard(conn net.Conn) *guard {
	return &guard{Conn: conn, in: bufio.NewReaderSize(conn, 32<<10)}
}

// Read implements net.Conn.
func (g *guard) Read(p []byte) (n int, err error) {
	for n < len(p) {
		switch {
		case len(g.ready) > 0:
			k := copy(p[n:], g.ready)
			g.ready, n = g.ready[k:], n+k
		case g.blind || g.pass > 0:
			if n > 0 && g.in.Buffered() == 0 {
				return n, nil
			}
			k := len(p) - n
			if !g.blind {
				k = min(k, g.pass)
			}
			if k, err = g.in.Read(p[n : n+k]); err != nil {
				return n + k, err
			}
			g.pass, n = max(g.pass-k, 0), n+k
		case n > 0 && g.in.Buffered() < frameHead: // the next frame may take a while
			return n, nil
		default:
			if err := g.next(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// next inspects the next frame.
func (g *guard) next() error {
	head, err := g.in.Peek(frameHead)
	if err != nil {
		return err
	}
	kind, size := head[0], binary.BigEndian.Uint32(head[3:])
	switch {
	case kind == 0 || kind > 8 || size > 1<<30: // such as the greeting of a broker with another version
		g.blind = true
	case kind != contentHeader || size > maxContentHeader:
		g.pass = frameHead + int(size) + 1
	default:
		frame := make([]byte, frameHead+int(size)+1)
		if err := readFull(g.in, frame); err != nil {
			return err
		}
		g.ready = readable(frame)
	}
	return nil
}

// readFull is io.ReadFull, except that a frame that ends too early returns the
// connection's own error.
func readFull(r *bufio.Reader, p []byte) error {
	for n := 0; n < len(p); {
		k, err := r.Read(p[n:])
		if err != nil {
			return err
		}
		n += k
	}
	return nil
}

// Flags of the first properties of a content header.
const (
	hasContentType     = 1 << 15
	hasContentEncoding = 1 << 14
	hasHeaders         = 1 << 13
)

// readable returns frame, a content header, or a copy with its headers replaced.
func readable(frame []byte) []byte {
	const fixed = frameHead + 2 + 2 + 8 // class, weight, size of the body
	body := len(frame) - 1
	if body < fixed+2 {
		return frame
	}
	flags, at := binary.BigEndian.Uint16(frame[fixed:]), fixed+2
	for _, short := range []uint16{hasContentType, hasContentEncoding} {
		if flags&short != 0 && at < body {
			at += 1 + int(frame[at])
		}
	}
	if flags&hasHeaders == 0 || at+4 > body {
		return frame
	}
	length := int(binary.BigEndian.Uint32(frame[at:]))
	if length > body-at-4 || fields(frame[at+4:at+4+length], 0, true) {
		return frame
	}
	table := frame[at+4 : at+4+length]
	made := binary.BigEndian.AppendUint32(append([]byte(nil), frame[:at]...), 0)
	made = append(append(append(made, byte(len(unreadableHeader))), unreadableHeader...), 'x')
	kept := table[:max(0, length-1-len(unreadableHeader)-1-4)] // no frame becomes longer
	made = append(binary.BigEndian.AppendUint32(made, uint32(len(kept))), kept...)
	binary.BigEndian.PutUint32(made[at:], uint32(len(made)-at-4))
	made = append(made, frame[at+4+length:]...)
	binary.BigEndian.PutUint32(made[3:], uint32(len(made)-frameHead-1))
	return made
}

// The limits of the client, in amqp091-go v1.16.
const (
	maxNesting = 32
	maxFields  = 8192
)

// fields reports whether the client can read b, the fields of a table (which have names)
// or of an array.
func fields(b []byte, depth int, named bool) bool {
	if depth > maxNesting {
		return false
	}
	for n := 0; len(b) > 0; n++ {
		if n >= maxFields {
			return false
		}
		if named {
			name := int(b[0]) + 1
			if name >= len(b) {
				return false
			}
			b = b[name:]
		}
		size, ok := field(b, depth)
		if !ok || size > len(b) {
			return false
		}
		b = b[size:]
	}
	return true
}

// fieldSizes are the sizes of the types whose size is always the same.
var fieldSizes = map[byte]int{
	't': 1, 'b': 1, 'B': 1, 's': 2, 'u': 2, 'I': 4, 'i': 4, 'f': 4, 'l': 8, 'd': 8, 'T': 8, 'D': 5, 'V': 0,
}

// field returns the size of the field that b begins with, its type included.
func field(b []byte, depth int) (size int, ok bool) {
	if size, ok = fieldSizes[b[0]]; ok {
		return 1 + size, true
	}
	if len(b) < 5 {
		return 0, false
	}
	length := int64(binary.BigEndian.Uint32(b[1:]))
	if length > int64(len(b)-5) {
		return 0, false
	}
	switch inner := b[5 : 5+length]; b[0] {
	case 'S', 'x':
		return 5 + len(inner), true
	case 'A', 'F':
		return 5 + len(inner), fields(inner, depth+1, b[0] == 'F')
	}
	return 0, false
}
