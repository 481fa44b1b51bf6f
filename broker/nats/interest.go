package nats

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// wanted returns an error if st confirms messages of topic and stores none of them,
// because its kind is interest and it has no consumer for them.
func (s *Sink) wanted(ctx context.Context, st jetstream.Stream, topic string) error {
	config := st.CachedInfo().Config
	if config.Retention != jetstream.InterestPolicy || s.o.UnsafeDiscard {
		return nil
	}
	list, found := st.ListConsumers(ctx), false
	for info := range list.Info() { // to its end, or the library's goroutine stays
		filters := info.Config.FilterSubjects
		if info.Config.FilterSubject != "" || len(filters) == 0 {
			filters = append(filters, info.Config.FilterSubject)
		}
		for _, filter := range filters {
			found = found || covers(filter, topic)
		}
	}
	if err := list.Err(); err != nil || found {
		return err
	}
	return fmt.Errorf("stream %q keeps messages only for its consumers (Retention interest), and none of them is for this subject, so that it would confirm and drop it: start the consumer first, or set the option UnsafeDiscard", config.Name)
}

// covers reports whether the filter of a consumer, "" for none, matches the subject.
func covers(filter, subject string) bool {
	if filter == "" {
		return true
	}
	filters, tokens := strings.Split(filter, "."), strings.Split(subject, ".")
	for i, f := range filters {
		if f == ">" {
			return len(tokens) > i
		}
		if i >= len(tokens) || f != "*" && f != tokens[i] {
			return false
		}
	}
	return len(filters) == len(tokens)
}
