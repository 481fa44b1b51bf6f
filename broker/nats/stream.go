package nats

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrNoStream matches the error for a topic without a stream.
var ErrNoStream = errors.New("no stream has the subject")

// finder finds the streams of topics.
type finder struct {
	js            jetstream.JetStream
	stream        string // of all topics; "" looks it up
	provision     Provision
	unsafeMemory  bool
	unsafeDiscard bool
}

// look returns the stream of topic unchecked.
func (f finder) look(ctx context.Context, topic string) (jetstream.Stream, error) {
	name := f.stream
	if name == "" {
		var err error
		if name, err = f.js.StreamNameBySubject(ctx, topic); err != nil {
			return nil, err
		}
	}
	return f.js.Stream(ctx, name)
}

// find returns the stream of topic, and makes a missing one if allowed. The error names
// its mistake.
func (f finder) find(ctx context.Context, topic string) (jetstream.Stream, error) {
	st, err := f.look(ctx, topic)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound) && f.provision != nil:
		st, err = f.make(ctx, topic)
	case errors.Is(err, jetstream.ErrStreamNotFound) && f.stream != "":
		err = fmt.Errorf("stream %q: %w", f.stream, err)
	case errors.Is(err, jetstream.ErrStreamNotFound):
		err = fmt.Errorf("%w %q: make one, or set the option Provision", ErrNoStream, topic)
	}
	if err != nil {
		return nil, err
	}
	return st, f.check(st.CachedInfo().Config)
}

func (f finder) make(ctx context.Context, topic string) (jetstream.Stream, error) {
	config := f.provision(topic)
	if len(config.Subjects) == 0 {
		config.Subjects = []string{topic}
	}
	if err := f.check(config); err != nil {
		return nil, fmt.Errorf("option Provision: %w", err)
	}
	st, err := f.js.CreateStream(ctx, config)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process made it just now
		st, err = f.js.Stream(ctx, config.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("make stream %q: %w", config.Name, err)
	}
	return st, nil
}

func (f finder) check(c jetstream.StreamConfig) error {
	switch {
	case c.NoAck:
		return fmt.Errorf("stream %q has NoAck, so it confirms nothing that is published: set it to false", c.Name)
	case c.Storage == jetstream.MemoryStorage && !f.unsafeMemory:
		return fmt.Errorf("stream %q keeps its messages in memory, where a restart of the server loses them: give it file storage, or set the option UnsafeMemory", c.Name)
	case c.PersistMode == jetstream.AsyncPersistMode && !f.unsafeMemory:
		return fmt.Errorf("stream %q confirms what it has not written yet (PersistMode async), and a restart of the server loses that: set the default, or the option UnsafeMemory", c.Name)
	case f.unsafeDiscard:
		return nil
	case c.Discard == jetstream.DiscardOld && (c.MaxMsgs > 0 || c.MaxBytes > 0):
		return fmt.Errorf("stream %q removes unhandled messages when it is full (MaxMsgs %d, MaxBytes %d, Discard old): set Discard to new, so that it refuses instead, or set the option UnsafeDiscard", c.Name, c.MaxMsgs, c.MaxBytes)
	case c.MaxMsgsPerSubject > 0 && (c.Discard == jetstream.DiscardOld || !c.DiscardNewPerSubject):
		return fmt.Errorf("stream %q removes unhandled messages when a subject has more than %d (MaxMsgsPerSubject): set Discard to new with DiscardNewPerSubject, so that it refuses instead, or set the option UnsafeDiscard", c.Name, c.MaxMsgsPerSubject)
	}
	return nil
}

// consumerName is the durable's name for topic: readable, and different for any two
// topics.
func consumerName(durable, topic string) string {
	name := strings.ReplaceAll(topic, ".", "_")
	if strings.Contains(topic, "_") || !plainName(name) || len(durable)+len(name) > 200 {
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(topic))
		name = strings.Map(func(r rune) rune {
			if plainRune(r) {
				return r
			}
			return '_'
		}, name)
		name = name[:min(len(name), 100)] + "_" + hex.EncodeToString(sum.Sum(nil))
	}
	return durable + "_" + name
}

func plainName(s string) bool {
	return s != "" && len(s) <= 100 && !strings.ContainsFunc(s, func(r rune) bool { return !plainRune(r) })
}

func plainRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

// checkSubject rejects invalid subjects; wildcards are for subscribers only.
func checkSubject(topic string, wildcards bool) error {
	for token := range strings.SplitSeq(topic, ".") {
		wild := token == "*" || token == ">"
		if token == "" || wild && !wildcards || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return fmt.Errorf("topic %q is no NATS subject", topic)
		}
	}
	return nil
}
