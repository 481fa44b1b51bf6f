package consumer

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// rivals are the functions of middlewares that must not surround Attach, nor stand
// inside it, by the beginning of their names.
var rivals = []struct{ function, name, why string }{
	{watermillsOwn + "(*Deduplicator).", "Deduplicator", "it marks a message before its handler has run, so that one which failed is taken for a duplicate and lost"},
	{watermillsOwn + "Retry.", "Retry", "Config.Retry decides what is run again, and remembers it"},
	{watermillsOwn + "poisonQueue.", "PoisonQueue", "dead letters are kept in the database, and Config.DeadLetterTopic names the topic for copies; at a stop it would poison healthy messages"},
	{watermillsOwn + "CircuitBreaker.", "CircuitBreaker", "while it is open, messages are given back without a pause; the source is not read while the database is away"},
	{watermillsOwn + "InstantAck", "InstantAck", "it acknowledges before anything is kept"},
	{"github.com/headrace/headrace/internal/routed.", "inbox.Middleware, retry.Middleware or dlq.Middleware of headrace", "Attach does their work"},
}

// watermillsOwn is the package of Watermill's middlewares.
const watermillsOwn = "github.com/ThreeDotsLabs/watermill/message/router/middleware."

// rival says of the function of that name why it must go; "" where it may stay.
func rival(function string) string {
	for _, r := range rivals {
		if strings.HasPrefix(function, r.function) {
			return fmt.Sprintf("remove the middleware %s: %s", r.name, r.why)
		}
	}
	return ""
}

// checkInside refuses rivals by the names of their functions.
func checkInside(inside []message.HandlerMiddleware) error {
	for i, m := range inside {
		if m == nil {
			return fmt.Errorf("middleware #%d for the inside is nil", i)
		}
		if why := rival(runtime.FuncForPC(code(m)).Name()); why != "" {
			return fmt.Errorf("%w: %s", headrace.ErrOrder, why)
		}
	}
	return nil
}

// code is where a function's code begins; closures of one place share it.
func code(f any) uintptr { return reflect.ValueOf(f).Pointer() }

// surrounding returns why one of the middlewares that called us must go; "" where they
// may stay. They are on the stack, since each calls the next.
func surrounding() string {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		frame, more := frames.Next()
		if why := rival(frame.Function); why != "" {
			return why
		}
		if !more {
			return ""
		}
	}
}

// place says what is wrong with the order of the middlewares of the handler whose next
// function is next; nil where nothing is.
//
// Rule: a message from the backlog runs without the Router. What stands between us and
// the handler would see deliveries only, and never a retry.
func (a *attachment) place(next message.HandlerFunc) error {
	for _, raw := range a.raw {
		if code(raw) == code(next) {
			return nil
		}
	}
	return fmt.Errorf("%w: a middleware was added after consumer.Attach (%s): add middlewares before consumer.Attach, or give them to Attach as inside",
		headrace.ErrOrder, runtime.FuncForPC(code(next)).Name())
}

// inspect says at the first message of a handler what is wrong with it.
func (a *attachment) inspect(m *message.Message, next message.HandlerFunc, misplaced error) (wrong error, rival bool) {
	name := message.HandlerNameFromCtx(m.Context())
	if why := surrounding(); why != "" {
		wrong, rival = fmt.Errorf("handler %q: %w: %s", name, headrace.ErrOrder, why), true
	}
	switch raw, known := a.raw[name]; {
	case wrong != nil:
	case !known:
		wrong = fmt.Errorf("handler %q: %w: it was added after consumer.Attach: attach after every AddHandler", name, headrace.ErrOrder)
	case misplaced != nil:
		wrong = fmt.Errorf("handler %q: %w", name, misplaced)
	case code(raw) != code(next):
		wrong = fmt.Errorf("handler %q: %w: it was added again after consumer.Attach", name, headrace.ErrOrder)
	}
	return wrong, rival
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
