package redis_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/redis"
	"github.com/headrace/headrace/consumer"
)

// TestForeignEntries: added with redis-cli. TRAPS, redisstream: an entry without
// Watermill's fields ends the subscription. Guard: read.
func TestForeignEntries(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	messages := b.subscribe(b.source(redis.SourceOptions{}))
	id := b.add("id", "7", "total", "250")
	m := b.next(messages)
	if m.UUID != "" || string(m.Payload) != `{"id":"7","total":"250"}` {
		t.Errorf("%q %q", m.UUID, m.Payload)
	}
	want := headrace.Coordinates{Broker: "redis", Topic: b.topic, Position: id}
	if got := headrace.ArrivalFrom(m.Context()).Coordinates; got != want {
		t.Errorf("coordinates %v instead of %v", got, want)
	}
	m.Ack()
	b.add("name", "value", "payload", "\xff\x01")
	m = b.next(messages)
	if m.Metadata["name"] != "value" || string(m.Payload) != "\xff\x01" {
		t.Errorf("%q %q", m.Payload, m.Metadata)
	}
	m.Ack()
	b.emptied()
}

// TestRepeatedFields: go-redis shows the last value of a field alone; none is lost here. Guard: subscription.whole.
func TestRepeatedFields(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	messages := b.subscribe(b.source(redis.SourceOptions{}))
	for _, c := range []struct {
		fields     []string
		payload    string
		metadata   map[string]string
		unreadable bool
	}{
		{[]string{"payload", "x", "a", "1", "b", "3", "a", "2"}, "x", map[string]string{"a": "1\n2", "b": "3"}, false},
		{[]string{"a", "1", "a", "2"}, `{"a":"1\n2"}`, map[string]string{}, false},
		{[]string{"payload", "one", "a", "1", "payload", "\xff<"}, `[["payload","one"],["a","1"],["payload","base64:/zw="]]`, map[string]string{}, true},
		{[]string{redis.UUIDField, "one", "payload", "x", redis.UUIDField, "two"}, `[["` + redis.UUIDField + `","one"],["payload","x"],["` + redis.UUIDField + `","two"]]`, map[string]string{}, true},
	} {
		b.add(c.fields...)
		for range 2 { // in the same form when it comes again
			m := b.next(messages)
			a := headrace.ArrivalFrom(m.Context())
			if m.UUID != "" || string(m.Payload) != c.payload || !maps.Equal(m.Metadata, c.metadata) || (a.Unreadable != nil) != c.unreadable || a.Coordinates.Position == "" {
				t.Errorf("id %q, payload %q, metadata %q, %+v", m.UUID, m.Payload, m.Metadata, a)
			}
			m.Nack()
		}
		b.next(messages).Ack()
	}
	b.emptied()
}

// TestManyInFlight. TRAPS, redisstream: one in flight, and a nacked message is sent again at
// once in front of all others. Guards: subscription.give, SourceOptions.NackDelay.
func TestManyInFlight(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	const n = 300
	messages := b.subscribe(b.source(redis.SourceOptions{}))
	sink, err := redis.NewSink(redis.SinkOptions{Client: b.client})
	if err != nil {
		t.Fatal(err)
	}
	var all, got []*message.Message
	for i := range n {
		all = append(all, message.NewMessage(fmt.Sprint(i), []byte("x")))
	}
	if err := sink.Publish(b.topic, all...); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		m := b.next(messages)
		if m.UUID != fmt.Sprint(i) {
			t.Fatalf("message %s instead of %d", m.UUID, i)
		}
		got = append(got, m)
	}
	at := time.Now()
	got[0].Nack()
	for _, m := range got[1:] {
		m.Ack()
	}
	m := b.next(messages)
	if d := time.Since(at); m.UUID != "0" || d < 900*time.Millisecond {
		t.Errorf("message %s came again after %s", m.UUID, d)
	}
	m.Ack()
	b.emptied()
}

// TestWindow: no more than InFlight are read.
func TestWindow(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	messages := b.subscribe(b.source(redis.SourceOptions{InFlight: 3, ClaimAfter: time.Minute}))
	for i := range 10 {
		b.add("payload", fmt.Sprint(i))
	}
	first := b.next(messages)
	b.next(messages)
	b.next(messages)
	b.none(messages, 300*time.Millisecond)
	first.Ack()
	b.next(messages)
}

// TestOwnerAtWorkKeepsItsEntry. TRAPS, redisstream: claims although the owner works. The
// entries of an owner that is dead are claimed. Guard: flight.beat.
//
//evidence:redis
func TestOwnerAtWorkKeepsItsEntry(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	const silence = 3 * time.Second
	messages := b.subscribe(b.source(redis.SourceOptions{ClaimAfter: silence}))
	b.add("payload", "slow")
	m := b.next(messages)
	other := b.subscribe(b.source(redis.SourceOptions{ClaimAfter: silence}))
	b.none(other, 3*silence)
	m.Ack()
	b.emptied()

	dead := newStream(t) // read by a process that dies
	dead.add("payload", "orphan")
	if err := dead.client.XGroupCreate(t.Context(), dead.topic, "group", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if err := dead.client.XReadGroup(t.Context(), &goredis.XReadGroupArgs{Group: "group", Consumer: "dead", Streams: []string{dead.topic, ">"}}).Err(); err != nil {
		t.Fatal(err)
	}
	m = dead.next(dead.subscribe(dead.source(redis.SourceOptions{})))
	if string(m.Payload) != "orphan" {
		t.Errorf("%q", m.Payload)
	}
	m.Ack()
	dead.emptied()
}

// TestPause: a paused topic is not read, and untaken messages are there for others. Guard:
// flow.Gate.
func TestPause(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	client := newClient(b.addr)
	t.Cleanup(func() { _ = client.Close() })
	var asked atomic.Int64
	client.AddHook(hook{before: func(cmd goredis.Cmder) error {
		if name := cmd.Name(); name == "xreadgroup" || name == "xautoclaim" {
			asked.Add(1)
		}
		return nil
	}})
	s := b.source(redis.SourceOptions{Client: client})
	messages := b.subscribe(s)
	for i := range 5 {
		b.add("payload", fmt.Sprint(i))
	}
	held := b.next(messages)
	s.Pause(b.topic)
	other := b.source(redis.SourceOptions{})
	elsewhere := b.subscribe(other)
	for range 4 {
		b.next(elsewhere).Ack()
	}
	_ = other.Close()
	before := asked.Load()
	b.add("payload", "later")
	b.none(messages, 1500*time.Millisecond)
	if n := asked.Load() - before; n > 0 {
		t.Errorf("%d requests for entries while paused", n)
	}
	held.Ack()
	s.Resume(b.topic)
	if m := b.next(messages); string(m.Payload) != "later" {
		t.Errorf("%q", m.Payload)
	} else {
		m.Ack()
	}
	b.emptied()
}

// TestPauseDuringRead: what a read brings that was under way at the pause is given to
// no handler, also if one waits for it. Guard: flow.Gate.Offer.
func TestPauseDuringRead(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	client := newClient(b.addr)
	t.Cleanup(func() { _ = client.Close() })
	s := b.source(redis.SourceOptions{Client: client, ClaimAfter: time.Minute})
	paused := make(chan struct{}, 1)
	client.AddHook(hook{after: func(cmd goredis.Cmder) {
		entries := 0
		switch c := cmd.(type) {
		case *goredis.XStreamSliceCmd:
			entries = len(c.Val())
		case *goredis.XAutoClaimCmd:
			messages, _ := c.Val()
			entries = len(messages)
		}
		if entries > 0 {
			s.Pause(b.topic)
			select {
			case paused <- struct{}{}:
			default: // it was said
			}
		}
	}})
	messages := b.subscribe(s)
	for i := range 8 { // it may be given to no handler by chance
		time.AfterFunc(100*time.Millisecond, func() { // while a handler waits
			b.client.XAdd(context.Background(), &goredis.XAddArgs{Stream: b.topic, Values: []any{"payload", i}})
		})
		var quiet <-chan time.Time
		for over := false; !over; {
			select {
			case m := <-messages:
				if string(m.Payload) == strconv.Itoa(i) {
					t.Fatalf("a message came: %q", m.Payload)
				}
				m.Ack() // of an earlier round: claimed again, and its Pause was in front of our Resume
			case <-paused:
				quiet = time.After(200 * time.Millisecond)
			case <-quiet:
				over = true
			}
		}
		s.Resume(b.topic)
	}
}

// TestStreamGone: a deleted stream takes the group with it; what is added later is read.
// Guard: groupGone.
func TestStreamGone(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	messages := b.subscribe(b.source(redis.SourceOptions{}))
	b.add("payload", "one")
	b.next(messages).Ack()
	b.emptied()
	if _, err := cli(t.Context(), b.addr, "DEL", b.topic); err != nil {
		t.Fatal(err)
	}
	b.add("payload", "two")
	m := b.next(messages)
	if string(m.Payload) != "two" {
		t.Errorf("%q", m.Payload)
	}
	m.Ack()
	b.emptied()
}

// TestCloseGivesBack: what is in flight at Close is there for others at once, what is
// acknowledged is not, and the group forgets the name.
func TestCloseGivesBack(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	for _, payload := range []string{"a", "b", "c"} {
		b.add("payload", payload)
	}
	s := b.source(redis.SourceOptions{ClaimAfter: time.Hour})
	messages := b.subscribe(s)
	b.next(messages)
	b.next(messages).Ack()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Subscribe(t.Context(), b.topic); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("Subscribe after Close: %v", err)
	}
	s = b.source(redis.SourceOptions{ClaimAfter: time.Hour})
	messages = b.subscribe(s)
	b.next(messages).Ack()
	b.next(messages).Ack()
	b.emptied()
	_ = s.Close()
	list, err := b.client.XInfoConsumers(t.Context(), b.topic, "group").Result()
	if err != nil || len(list) > 1 { // the first had entries when it was closed
		t.Errorf("consumers %+v, %v", list, err)
	}
}

// TestDelete: an acknowledged entry leaves the stream.
func TestDelete(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	messages := b.subscribe(b.source(redis.SourceOptions{Delete: true}))
	b.add("payload", "a")
	b.next(messages).Ack()
	b.emptied()
	if n := b.client.XLen(t.Context(), b.topic).Val(); n != 0 {
		t.Errorf("%d entries are in the stream", n)
	}
}

// TestWatermillsWire: what watermill-redisstream adds is read, and what is added here is
// what it reads.
func TestWatermillsWire(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	sink, err := redis.NewSink(redis.SinkOptions{Client: b.client})
	if err != nil {
		t.Fatal(err)
	}
	m := message.NewMessage("id", []byte("payload"))
	m.Metadata.Set("a", "b")
	if err := sink.Publish(b.topic, m, message.NewMessage("bare", nil)); err != nil {
		t.Fatal(err)
	}
	entries, err := b.client.XRange(t.Context(), b.topic, "-", "+").Result()
	if err != nil || len(entries) != 2 {
		t.Fatal(entries, err)
	}
	want := map[string]any{"_watermill_message_uuid": "id", "payload": "payload", "metadata": "\x81\xa1a\xa1b"}
	if diff := cmp.Diff(want, entries[0].Values); diff != "" {
		t.Error(diff)
	}
	want = map[string]any{"_watermill_message_uuid": "bare", "payload": "", "metadata": ""}
	if diff := cmp.Diff(want, entries[1].Values); diff != "" {
		t.Error(diff)
	}
	messages := b.subscribe(b.source(redis.SourceOptions{}))
	if got := b.next(messages); got.UUID != "id" || got.Metadata["a"] != "b" || len(got.Metadata) != 1 {
		t.Errorf("%q %q", got.UUID, got.Metadata)
	}
}

// TestSink: a stream of another type, or none, is an error, and nothing is added.
func TestSink(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	sink, err := redis.NewSink(redis.SinkOptions{Client: b.client, MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	m := message.NewMessage("id", []byte("x"))
	if err := sink.Publish(b.topic, m); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
	if _, err := cli(t.Context(), b.addr, "SET", b.topic, "text"); err != nil {
		t.Fatal(err)
	}
	if err := sink.Publish(b.topic, m, m); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Error(err)
	}
	if err := sink.Close(); err != nil {
		t.Error(err)
	}
	if err := sink.Publish(b.topic, m); err == nil {
		t.Error("it publishes after Close")
	}
}

// TestOptions: each mistake is refused by name.
func TestOptions(t *testing.T) {
	t.Parallel()
	client := newClient("127.0.0.1:1")
	defer func() { _ = client.Close() }()
	for want, o := range map[string]redis.SourceOptions{
		"SourceOptions.Client":     {Group: "g"},
		"SourceOptions.Group":      {Client: client},
		"SourceOptions.ClaimAfter": {Client: client, Group: "g", ClaimAfter: time.Millisecond},
		"SourceOptions.NackDelay":  {Client: client, Group: "g", NackDelay: time.Minute},
		"SourceOptions.Block":      {Client: client, Group: "g", Block: -1},
		"SourceOptions.InFlight":   {Client: client, Group: "g", InFlight: -1},
		"SourceOptions.Start":      {Client: client, Group: "g", Start: "beginning"},
	} {
		if _, err := redis.NewSource(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, start := range []string{"0", "$", "0-0", "1700000000000", "1700000000000-12"} {
		if _, err := redis.NewSource(redis.SourceOptions{Client: client, Group: "g", Start: start}); err != nil {
			t.Errorf("Start %q: %v", start, err)
		}
	}
	for want, o := range map[string]redis.SinkOptions{
		"SinkOptions.Client":       {},
		"SinkOptions.Timeout":      {Client: client, Timeout: -1},
		"Timeout is 5ns":           {Client: client, Timeout: 5},
		"SinkOptions.UnsafeMaxLen": {Client: client, UnsafeMaxLen: -1},
	} {
		if _, err := redis.NewSink(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestErrorsNameTheOption: of an address without a server, and of a topic that names no stream.
func TestErrorsNameTheOption(t *testing.T) {
	t.Parallel()
	client := newClient("127.0.0.1:1")
	defer func() { _ = client.Close() }()
	s, err := redis.NewSource(redis.SourceOptions{Client: client, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	sink, err := redis.NewSink(redis.SinkOptions{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	for topic, option := range map[string]string{"orders": "Client", "": "Stream"} {
		if err := s.Check(t.Context(), topic, consumer.Demands{}); err == nil || !strings.Contains(err.Error(), "SourceOptions."+option) {
			t.Errorf("Check(%q): %v", topic, err)
		}
		if _, err := s.Subscribe(t.Context(), topic); err == nil || !strings.Contains(err.Error(), "SourceOptions."+option) {
			t.Errorf("Subscribe(%q): %v", topic, err)
		}
		if err := sink.Publish(topic, message.NewMessage("1", nil)); err == nil || !strings.Contains(err.Error(), "SinkOptions."+option) {
			t.Errorf("Publish(%q): %v", topic, err)
		}
	}
}

// TestCheck: the test's own server may start; TestAccept shows those that may not.
func TestCheck(t *testing.T) {
	t.Parallel()
	b := newStream(t)
	s := b.source(redis.SourceOptions{Retention: time.Hour})
	if err := s.Check(t.Context(), b.topic, consumer.Demands{InFlight: 10}); err != nil {
		t.Error(err)
	}
	if s.Retention() != time.Hour {
		t.Error(s.Retention())
	}
}

// What is read and not settled is bounded in bytes: as many entries are read as are likely
// to fit.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 100_000)
	for name, fields := range map[string][]string{"payload": {"payload", large}, "metadata": {"payload", "x", "header", large}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newStream(t)
			for range 60 {
				b.add(fields...)
			}
			messages := b.subscribe(b.source(redis.SourceOptions{MaxBytes: 1 << 20, ClaimAfter: time.Minute}))
			var held []*message.Message
			for range 11 {
				held = append(held, b.next(messages))
			}
			b.none(messages, 300*time.Millisecond)
			for range 49 {
				held[0].Ack()
				held = append(held[1:], b.next(messages))
			}
		})
	}
}
