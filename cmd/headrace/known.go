package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/search"
	"github.com/headrace/headrace/outbox"
)

// namesShown is how many names an error lists.
const namesShown = 10

// unknownName is the error that a name is not known: mostly it is misspelled.
type unknownName struct {
	what, name, of string // of is what it would belong to, if that is known
	known          []string
}

func (e *unknownName) Error() string {
	says := fmt.Sprintf("no %s %q%s is known", e.what, short(e.name, 80), e.of)
	switch n := len(e.known); {
	case n > namesShown:
		return fmt.Sprintf("%s; known are %s and %d more", says, strings.Join(e.known[:namesShown], ", "), n-namesShown)
	case n == 1:
		return says + "; known is " + e.known[0]
	case n > 0:
		return says + "; known are " + strings.Join(e.known, ", ")
	}
	return says
}

// knownName returns an error unless name is empty or one of known.
func knownName(what, name string, known []string) error {
	slices.Sort(known)
	known = slices.Compact(known)
	if name == "" || slices.Contains(known, name) {
		return nil
	}
	return &unknownName{what: what, name: name, known: known}
}

// knownConsumer returns an error if a consumer is given that is not known, or a handler, of that consumer
// or of any. What finds nothing asks it, so that a wrong name is no empty list.
func knownConsumer(ctx context.Context, st openStore, consumer, handler string) error {
	if consumer == "" && handler == "" {
		return nil
	}
	k := knownNames{}
	if err := k.read(ctx, st); err != nil {
		return err
	}
	if err := knownName("consumer", consumer, k.consumers); err != nil {
		return err
	}
	var handlers []string
	for _, s := range k.scopes {
		if of, name, _ := strings.Cut(s, "/"); consumer == "" || of == consumer {
			handlers = append(handlers, name)
		}
	}
	err := knownName("handler", handler, handlers)
	if unknown, ok := errors.AsType[*unknownName](err); ok && consumer != "" {
		unknown.of = " of " + short(consumer, 80)
	}
	return err
}

// knownNames are the consumers that the database knows, and the handlers, each as CONSUMER/HANDLER.
type knownNames struct{ consumers, scopes []string }

func (k *knownNames) add(consumer, handler string) {
	k.consumers = append(k.consumers, consumer)
	if handler != "" {
		k.scopes = append(k.scopes, consumer+"/"+handler)
	}
}

func (k *knownNames) read(ctx context.Context, st openStore) error {
	o := st.Operations()
	scopes, err := o.Finder.Scopes(ctx)
	if err != nil {
		return err
	}
	for _, s := range scopes {
		consumer, handler, _ := strings.Cut(s, "/")
		k.add(consumer, handler)
	}
	processes, err := consumers(ctx, st, "")
	if err != nil {
		return err
	}
	for _, c := range processes {
		k.add(c.Consumer, "")
		for _, i := range c.Instances {
			for _, h := range i.Handlers {
				k.add(c.Consumer, h)
			}
		}
	}
	failing, err := o.Groups.List(ctx, groups.Filter{Closed: true})
	if err != nil {
		return err
	}
	for _, g := range failing {
		k.add(g.Consumer, g.Handler)
	}
	subscribed, err := o.Subscriptions.List(ctx, "")
	if err != nil {
		return err
	}
	for _, s := range subscribed {
		k.add(s.Consumer, "")
	}
	waits, err := st.Backlog().Depths(ctx)
	if err != nil {
		return err
	}
	for _, d := range waits {
		k.add(d.Consumer, d.Handler)
	}
	return nil
}

// knownOf returns an error if f names what is not known.
func (m *Main) knownOf(ctx context.Context, st openStore, f dlq.Filter) error {
	if err := knownConsumer(ctx, st, f.Consumer, f.Handler); err != nil || f.Topic == "" {
		return err
	}
	// No table has the topics. Letters in any state do, of which the newest ones are looked at.
	of := search.Request{Filter: dlq.Filter{Topic: f.Topic, AnyState: true}, Limit: 1, Budget: m.Budget}
	page, err := search.Letters(ctx, st.Letters(), of)
	if err != nil || len(page.Letters) > 0 || page.Cursor != 0 {
		return err
	}
	page, err = search.Letters(ctx, st.Letters(), search.Request{Filter: dlq.Filter{AnyState: true}, Limit: listPage, Budget: m.Budget})
	if err != nil {
		return err
	}
	var topics []string
	for _, l := range page.Letters {
		topics = append(topics, l.Delivery.Topic)
	}
	return knownName("dead letter of a topic", f.Topic, topics)
}

// knownBox returns an error if an outbox is given that is not known.
func knownBox(ctx context.Context, st openStore, name string) error {
	if consumer, line := outbox.ConsumerOf(name); name == "" || line {
		return knownConsumer(ctx, st, consumer, "")
	}
	list, err := st.Outbox().List(ctx, "")
	if err != nil {
		return err
	}
	owners, err := st.Operations().Relays.Owners(ctx, "")
	if err != nil {
		return err
	}
	known := []string{outbox.DefaultName}
	for _, o := range owners {
		known = append(known, o.Outbox)
	}
	for _, s := range list {
		if _, line := outbox.ConsumerOf(s.Outbox); !line {
			known = append(known, s.Outbox)
		}
	}
	return knownName("outbox", name, known)
}

// found is the end of a list of n items. If there is none, an unknown name in the filter is an error, and
// so is a group that does not exist; with other filters an empty list is a valid result.
func (m *Main) found(ctx context.Context, st openStore, n int, f dlq.Filter) error {
	if n > 0 {
		return nil
	}
	if err := m.knownOf(ctx, st, f); err != nil || f.ErrorFingerprint == "" {
		return err
	}
	m.say("no letter matches%s", describe(f))
	return errFound
}

// nothing is the end of a command that has found no letter to work on, as says says.
func (m *Main) nothing(ctx context.Context, st openStore, f dlq.Filter, says string) error {
	if err := m.knownOf(ctx, st, f); err != nil {
		return err
	}
	m.say("%s%s", says, describe(f))
	return errFound
}
