package nats

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// pullTime is how long a request for messages stays at the server; messages may
	// arrive that long after a pause began.
	pullTime = 2 * time.Second
	// pullGrace is how much later a request without an answer is given up.
	pullGrace = 1500 * time.Millisecond
	// restTime is the pause after the server rejected a request.
	restTime = time.Second
	// reconnectTime is how often to look whether a lost connection is back.
	reconnectTime = 100 * time.Millisecond
)

// isMessage tells a stored message, which has a subject for its acknowledgement, from the
// server's answer to a request. Headers cannot tell: a sender may have written any text
// into them.
func isMessage(raw *natsgo.Msg) bool { return raw.Reply != "" }

// ask requests as many messages as there is room for, one request at a time. The client
// and the network may keep requests for a server that is away, which then serves them all:
// without a connection none is made, and after one without an answer only for a message.
func (b *subscription) ask() {
	room := min(b.source.o.Window-len(b.held), b.batch)
	if b.asked > 0 || b.resting || room <= 0 || b.paused.Load() {
		return
	}
	if nc := b.source.link.nc; !nc.IsConnected() && !nc.IsClosed() {
		b.resting = true
		b.timer.Reset(reconnectTime)
		return
	}
	if b.unanswered > 0 {
		room = 1
	}
	room, bytes := b.roomBytes(room)
	if room == 0 {
		return
	}
	b.request++
	body := make([]byte, 0, 64)
	body = append(body, `{"batch":`...)
	body = strconv.AppendInt(body, int64(room), 10)
	body = append(body, `,"expires":`...)
	body = strconv.AppendInt(body, int64(b.expires), 10)
	if bytes > 0 {
		body = append(body, `,"max_bytes":`...)
		body = strconv.AppendInt(body, bytes, 10)
	}
	body = append(body, '}')
	if err := b.source.link.nc.PublishRequest(b.api, b.reply(), body); err != nil {
		b.rest("the request for messages cannot be sent", err)
		return
	}
	b.asked = room
	b.timer.Reset(b.expires + pullGrace)
}

// roomBytes returns how many of room messages to request, and of how many bytes; 0 bytes
// if even the largest messages fit, which spares the server an answer.
func (b *subscription) roomBytes(room int) (int, int64) {
	left := b.source.o.MaxBytes - int64(b.bytes)
	switch {
	case b.large && len(b.held) == 0:
		return 1, 0
	case b.large || left <= 0:
		return 0, 0
	case left >= int64(room)*(b.source.link.nc.MaxPayload()+leastRecord):
		return room, 0
	}
	if b.maxBytes > 0 {
		left = min(left, b.maxBytes)
	}
	return room, left
}

// leastRecord is more than the size of a record without headers and payload: its two
// subjects.
const leastRecord = 1 << 10

func (b *subscription) reply() string { return b.inbox + "." + strconv.FormatUint(b.request, 10) }

// rest requests nothing for a while. It logs the first time.
func (b *subscription) rest(what string, err error) {
	if !b.trouble {
		b.trouble = true
		b.source.o.logger().Warn("NATS gives no messages: "+what, "topic", b.topic, "stream", b.stream, "error", err)
	}
	b.health.Is(fmt.Errorf("%s: %w", what, err))
	b.asked, b.resting = 0, true
	b.timer.Reset(restTime)
}

// well records that the server answers correctly.
func (b *subscription) well() {
	if b.trouble {
		b.source.o.logger().Info("NATS gives messages again", "topic", b.topic, "stream", b.stream)
	}
	b.trouble, b.missing, b.unanswered = false, 0, 0
	b.health.Is(nil)
}

// receive handles a message, or an answer to a request. It reports whether the consumer
// is finally gone from the server.
func (b *subscription) receive(raw *natsgo.Msg) (gone bool) {
	if !isMessage(raw) {
		return b.answer(raw)
	}
	b.well()
	b.suspension.delivered.Store(true)
	if b.asked > 0 {
		b.asked--
	}
	d := b.delivery(raw)
	if b.paused.Load() {
		b.nak(d, b.source.o.NackDelay)
		d.forget()
		return false
	}
	b.large = false
	b.hold(d)
	b.queue = append(b.queue, d)
	return false
}

// answer handles the end of a request.
func (b *subscription) answer(raw *natsgo.Msg) (gone bool) {
	status, says := raw.Header.Get("Status"), raw.Header.Get("Description")
	if raw.Subject != b.reply() || status == "100" {
		return false // of an earlier request, or a sign of life
	}
	switch {
	case status == "404", status == "408": // there are no messages
		b.well()
		b.asked = 0
		return false
	case strings.EqualFold(says, "Batch Completed"):
		b.asked = 0
		return false
	case strings.EqualFold(says, "Message Size Exceeds MaxBytes"): // there is no room for the next one
		b.well()
		b.asked, b.large = 0, true
		return false
	}
	err := errors.New("status " + status + " " + says)
	if strings.EqualFold(says, "Consumer Deleted") || b.isMissing() {
		b.source.o.logger().Error("the consumer or its stream is gone from NATS; the subscription ends",
			"topic", b.topic, "stream", b.stream, "consumer", b.consumer)
		return true
	}
	b.rest("the server refuses", err)
	return false
}

// missingTimes is how often in a row, with a rest in between, the server must answer that
// there is no such consumer: a starting server may not know all of them yet.
const missingTimes = 3

func (b *subscription) isMissing() bool {
	ctx, cancel := context.WithTimeout(b.ctx, restTime)
	defer cancel()
	_, err := b.source.link.js.Consumer(ctx, b.stream, b.consumer)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		b.missing++
	case err == nil:
		b.missing = 0
	}
	return b.missing >= missingTimes
}
