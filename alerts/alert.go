package alerts

import (
	"context"
	"log/slog"
	"time"
)

// Kind says what happened.
type Kind string

// The kinds of alert.
const (
	// Paused: a consumer stopped taking messages, because its database or broker
	// does not answer.
	Paused Kind = "paused"
	// Resumed: a paused consumer takes messages again.
	Resumed Kind = "resumed"
	// SubscriptionEnded: a broker ended a subscription while the consumer ran.
	SubscriptionEnded Kind = "subscription_ended"
	// HandlerStuck: a handler did not return after its deadline.
	HandlerStuck Kind = "handler_stuck"
	// WrongOrder: the middlewares of a Router stand in an order in which messages would
	// be lost; all stay unacknowledged.
	WrongOrder Kind = "wrong_order"
	// RowParked: the relay set an outbox row aside that the broker refuses.
	RowParked Kind = "row_parked"
)

// Alert is one thing that people should know. Fields that do not apply are empty.
type Alert struct {
	// Kind says what happened.
	Kind Kind
	// Consumer, Handler and Topic say where.
	Consumer string
	Handler  string
	Topic    string
	// Text says in one sentence what happened and what to do.
	Text string
	// At is when it happened, by this process's clock.
	At time.Time
}

// Hook passes an alert on. Calls come one at a time, from a goroutine that does no
// other work; ctx ends when the hook has had its time or the consumer closes. A
// panic is logged.
type Hook func(ctx context.Context, a Alert)

// Log returns a hook that writes alerts to logger: Resumed at level info, all
// others at level warn. nil means slog.Default.
func Log(logger *slog.Logger) Hook {
	return func(ctx context.Context, a Alert) {
		l := logger
		if l == nil {
			l = slog.Default()
		}
		level := slog.LevelWarn
		if a.Kind == Resumed {
			level = slog.LevelInfo
		}
		l.LogAttrs(ctx, level, "alert: "+a.Text, attributes(a)...)
	}
}

func attributes(a Alert) []slog.Attr {
	attrs := []slog.Attr{slog.String("kind", string(a.Kind))}
	for _, field := range []struct{ name, value string }{
		{"consumer", a.Consumer}, {"handler", a.Handler}, {"topic", a.Topic},
	} {
		if field.value != "" {
			attrs = append(attrs, slog.String(field.name, field.value))
		}
	}
	if !a.At.IsZero() {
		attrs = append(attrs, slog.Time("at", a.At))
	}
	return attrs
}

// Multi returns a hook that calls each of hooks in turn; nil ones are passed over.
// A hook that panics does not keep the alert from the ones after it: the panic goes
// on when all were called.
func Multi(hooks ...Hook) Hook {
	return func(ctx context.Context, a Alert) { callAll(ctx, a, hooks) }
}

func callAll(ctx context.Context, a Alert, hooks []Hook) {
	for i, hook := range hooks {
		if hook != nil {
			defer callAll(ctx, a, hooks[i+1:]) // also when this one panics
			hook(ctx, a)
			return
		}
	}
}
