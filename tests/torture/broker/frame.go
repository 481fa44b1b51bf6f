package broker

import (
	"encoding/json"
	"net"
	"sync"
	"time"
)

// Message is one at the broker.
type Message struct {
	// N is its number: the order of messages of one key. Send sets it.
	N int64 `json:"n,omitempty"`
	// ID, Topic and Key name it; an empty Key has no order.
	ID    string `json:"id"`
	Topic string `json:"topic"`
	Key   string `json:"key,omitempty"`
	// Metadata and Payload are what it says. []byte values are base64 on the wire, so
	// that every byte passes.
	Metadata map[string][]byte `json:"metadata"`
	Payload  []byte            `json:"payload"`
}

// frame is one line on the wire.
type frame struct {
	Op       string    `json:"op"` // sub, beat, msg, ack, nack, pub, done
	N        int64     `json:"n,omitempty"`
	Topic    string    `json:"topic,omitempty"`
	Window   int       `json:"window,omitempty"`
	Messages []Message `json:"messages,omitempty"`
}

const (
	// SessionTimeout is how long a session lives without a beat.
	SessionTimeout = 6 * time.Second
	beatEvery      = 500 * time.Millisecond
	writeTimeout   = 30 * time.Second
)

// wire writes and reads frames on a connection.
type wire struct {
	conn net.Conn
	mu   sync.Mutex
	enc  *json.Encoder
	dec  *json.Decoder
}

func newWire(c net.Conn) *wire {
	return &wire{conn: c, enc: json.NewEncoder(c), dec: json.NewDecoder(c)}
}

func (w *wire) send(f frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	return w.enc.Encode(f)
}

func (w *wire) receive(timeout time.Duration) (f frame, err error) {
	deadline := time.Time{}
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	_ = w.conn.SetReadDeadline(deadline)
	err = w.dec.Decode(&f)
	return f, err
}
