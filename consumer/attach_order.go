package consumer

import (
	"fmt"
	"reflect"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/chain"
)

// rivals are the middlewares that must not surround Attach, nor stand inside it, and why.
var rivals = map[string]string{
	chain.Deduplicator:   "it marks a message before its handler has run, so that one which failed is taken for a duplicate and lost",
	chain.WatermillRetry: "Config.Retry decides what is run again, and remembers it",
	chain.PoisonQueue:    "dead letters are kept in the database, and Config.DeadLetterTopic names the topic for copies; at a stop it would poison healthy messages",
	chain.CircuitBreaker: "while it is open, messages are given back without a pause; the source is not read while the database is away",
	chain.InstantAck:     "it acknowledges before anything is kept",
	chain.Ours:           "Attach does their work",
}

// insiders are rivals only inside, where they would have a failed attempt committed.
var insiders = map[string]string{
	chain.IgnoreErrors: "it hides the failure of an attempt, whose writes would be kept",
	chain.Duplicator:   "it runs each attempt twice in one transaction",
}

// rival says of the middleware of that name why it must go; "" where it may stay.
func rival(name string) string {
	if why := rivals[name]; why != "" {
		return fmt.Sprintf("remove the middleware %s: %s", name, why)
	}
	return ""
}

// checkInside refuses rivals by their functions.
func checkInside(inside []message.HandlerMiddleware) error {
	for i, m := range inside {
		if m == nil {
			return fmt.Errorf("middleware #%d for the inside is nil", i)
		}
		name := chain.Known(m)
		why := rival(name)
		if insiders[name] != "" {
			why = fmt.Sprintf("remove the middleware %s: %s", name, insiders[name])
		}
		if why != "" {
			return fmt.Errorf("%w: %s", headrace.ErrOrder, why)
		}
	}
	return nil
}

// surrounding returns which of the middlewares that called us must go, and why; "" where
// they may stay. They are on the stack, since each calls the next.
func surrounding() (name, why string) {
	for _, name := range chain.Callers("") {
		if why := rival(name); why != "" {
			return name, why
		}
	}
	return "", ""
}

// place says what is wrong with the order of the middlewares of the handler whose next
// function is next; nil where nothing is.
//
// Rule: a message from the backlog runs without the Router. What stands between us and
// the handler would see deliveries only, and never a retry.
func (a *attachment) place(next message.HandlerFunc) error {
	for _, raw := range a.raw {
		if chain.Code(raw) == chain.Code(next) {
			return nil
		}
	}
	return late(chain.Name(next))
}

func late(function string) error {
	return fmt.Errorf("%w: a middleware was added after consumer.Attach (%s): add middlewares before consumer.Attach, or give them to Attach as inside",
		headrace.ErrOrder, function)
}

// inspect says at the first message of a handler what is wrong with it, and whether an
// error must be kept from a middleware outside, which would act on it.
func (a *attachment) inspect(m *message.Message, next message.HandlerFunc, misplaced error) (wrong error, quiet bool) {
	name := message.HandlerNameFromCtx(m.Context())
	if known, why := surrounding(); why != "" {
		wrong, quiet = fmt.Errorf("handler %q: %w: %s", name, headrace.ErrOrder, why), known != chain.Ours
	}
	switch raw, known := a.raw[name]; {
	case wrong != nil:
	case !known:
		wrong = fmt.Errorf("handler %q: %w: it was added after consumer.Attach: attach after every AddHandler", name, headrace.ErrOrder)
	case misplaced != nil:
		wrong = fmt.Errorf("handler %q: %w", name, misplaced)
	case chain.Code(raw) != chain.Code(next):
		wrong = fmt.Errorf("handler %q: %w: it was added again after consumer.Attach", name, headrace.ErrOrder)
	}
	return wrong, quiet
}

// closeTimeout reads how long the Router waits when it is closed. Watermill does not
// export it; where the field is not found, it is unknown.
func closeTimeout(router *message.Router) (time.Duration, bool) {
	config := reflect.ValueOf(router).Elem().FieldByName("config")
	if !config.IsValid() || config.Kind() != reflect.Struct {
		return 0, false
	}
	timeout := config.FieldByName("CloseTimeout")
	if !timeout.IsValid() || timeout.Type() != reflect.TypeFor[time.Duration]() {
		return 0, false
	}
	return time.Duration(timeout.Int()), true
}
