package workload

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/headrace/headrace/tests/torture/broker"
	"github.com/headrace/headrace/tests/torture/history"
)

// Mix says what is sent.
type Mix struct {
	// Bad is how many of a hundred messages fail in some way.
	Bad int
	// Rate is how many are sent in a second.
	Rate int
}

// Generator sends messages. Its methods may be called concurrently.
type Generator struct {
	Log    *history.Log
	Broker *broker.Server
	Mix    Mix

	mu   sync.Mutex
	rng  *rand.Rand
	n    int64
	sent []broker.Message // what went out for certain
}

// NewGenerator returns one whose choices follow from seed.
func NewGenerator(log *history.Log, b *broker.Server, mix Mix, seed uint64) *Generator {
	return &Generator{Log: log, Broker: b, Mix: mix, rng: rand.New(rand.NewPCG(seed, 1))}
}

// full is how many messages may wait at the broker before the generator does.
const full = 100

// Run sends until ctx ends.
func (g *Generator) Run(ctx context.Context) error {
	const each = 10
	tick := time.NewTicker(each * time.Second / time.Duration(g.Mix.Rate))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if g.Broker.Pending() > full {
			continue
		}
		if err := g.batch(each); err != nil {
			return err
		}
	}
}

// Count is how many messages went out for certain.
func (g *Generator) Count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.sent)
}

// Again sends everything again that went out for certain.
func (g *Generator) Again() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.Broker.Send(g.sent...)
}

// One sends a message of kind to topic, and returns its id.
func (g *Generator) One(topic string, kind Kind) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m, e := g.make(topic, kind)
	if err := g.Log.Sync(e); err != nil {
		return "", err
	}
	g.give(m, e)
	return m.ID, nil
}

// Once sends n good messages that never come again once they are acknowledged.
func (g *Generator) Once(n int) (ids []string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for range n {
		m, e := g.make(Plain, Good)
		if err := g.Log.Sync(e); err != nil {
			return nil, err
		}
		g.Broker.Send(m)
		e.Op = history.OK
		g.Log.Note(e)
		ids = append(ids, m.ID)
	}
	return ids, nil
}

func (g *Generator) batch(n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	messages, entries := make([]broker.Message, n), make([]history.Entry, n)
	for i := range n {
		topic := g.topic()
		messages[i], entries[i] = g.make(topic, g.kind(topic))
	}
	if err := g.Log.Sync(entries...); err != nil {
		return err
	}
	for i := range n {
		switch dice := g.rng.IntN(100); {
		case dice == 0:
			entries[i].Op = history.Fail
			g.Log.Note(entries[i])
		case dice == 1:
			entries[i].Op = history.Info
			if g.rng.IntN(2) == 0 {
				g.Broker.Send(messages[i])
			}
			g.Log.Note(entries[i])
		default:
			g.give(messages[i], entries[i])
		}
	}
	if g.rng.IntN(10) == 0 && len(g.sent) > 0 { // one that was handled long ago
		g.Broker.Send(g.sent[g.rng.IntN(len(g.sent))])
	}
	return nil
}

func (g *Generator) give(m broker.Message, e history.Entry) {
	copies := 1
	if m.Key == "" && g.rng.IntN(20) == 0 {
		copies = 3 // at once
	}
	for range copies {
		g.Broker.Send(m)
	}
	e.Op = history.OK
	g.Log.Note(e)
	if Kind(m.Metadata[kindHeader]) != Killer {
		g.sent = append(g.sent, m)
	}
}

func (g *Generator) topic() string {
	switch dice := g.rng.IntN(10); {
	case dice < 4:
		return Plain
	case dice < 6:
		return Batch
	case dice < 7:
		return Leased
	}
	return Strict
}

func (g *Generator) kind(topic string) Kind {
	if g.rng.IntN(100) >= g.Mix.Bad {
		return Good
	}
	kinds := []Kind{Flaky, Flaky, Poison, Exhausted, Curable}
	if topic == Strict {
		kinds = []Kind{Flaky, Flaky, Poison}
	}
	return kinds[g.rng.IntN(len(kinds))]
}

func (g *Generator) make(topic string, kind Kind) (broker.Message, history.Entry) {
	g.n++
	amount := 1 + g.rng.Int64N(1000)
	m := broker.Message{
		ID: fmt.Sprintf("%s-%06d", topic, g.n), Topic: topic, Payload: g.payload(),
		Metadata: map[string][]byte{
			kindHeader: []byte(kind), amountHeader: fmt.Append(nil, amount),
			"odd": g.odd(), "": {}, "caf\u00e9": []byte("cafe\u0301"),
		},
	}
	if topic == Strict {
		m.Key = fmt.Sprintf("key-%02d", g.rng.IntN(StrictKeys))
		m.Metadata[broker.KeyHeader] = []byte(m.Key)
	}
	return m, history.Entry{
		Op: history.Invoke, ID: m.ID, Topic: topic, Key: m.Key, N: g.n, Kind: string(kind), Amount: amount,
		Sum: Sum(m.Payload, Strings(m.Metadata)),
	}
}

// payload is anything: nothing, a zero byte, no text, and now and then a large one.
func (g *Generator) payload() []byte {
	switch g.rng.IntN(40) {
	case 0:
		return []byte{}
	case 1:
		return []byte{0}
	case 2:
		return []byte{0xff, 0xfe, 0xc3, 0x28}
	case 3:
		if g.rng.IntN(10) == 0 {
			return bytes.Repeat([]byte{0, 1, 0xfe, 0xff}, 1<<18+1) // over 1 MiB
		}
	}
	p := make([]byte, 20+g.rng.IntN(200))
	for i := range p {
		p[i] = byte(g.rng.Uint32())
	}
	return p
}

func (g *Generator) odd() []byte {
	return [][]byte{{}, {0}, {0xff, 0xfe}, []byte("a\r\nb: c"), []byte("{{schema}} $1")}[g.rng.IntN(5)]
}
