package consumer_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	metricsdk "go.opentelemetry.io/otel/sdk/metric"
	tracesdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/codec/cloudevents"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/from"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlite"
)

// limits sets the limit of the system erp.
func limits(l ledger.Limit) func(*consumer.Config) {
	return func(c *consumer.Config) { c.Systems = map[string]ledger.Limit{"erp": l} }
}

// Bad configuration dies at start, with an error that names the option (bad input
// 34–37, 44).
//
//evidence:refused-at-start
func TestNewRefusesBadOptions(t *testing.T) {
	b := setupSQLite(t)
	for _, c := range []struct {
		name   string
		change func(*consumer.Config)
	}{
		{"Config.Concurrency", func(c *consumer.Config) { c.Concurrency = -1 }},
		{"Config.Concurrency", func(c *consumer.Config) { c.Concurrency = 1e6 }},
		{"Config.MaxBatch", func(c *consumer.Config) { c.MaxBatch = -1 }},
		{"Config.MaxInFlight", func(c *consumer.Config) { c.MaxInFlight = math.MinInt }},
		{"Config.MaxInFlightBytes", func(c *consumer.Config) { c.MaxInFlightBytes = -5 }},
		{"Config.HandlerTimeout", func(c *consumer.Config) { c.HandlerTimeout = -time.Second }},
		{"Config.DrainTimeout", func(c *consumer.Config) { c.DrainTimeout = -time.Second }},
		{"Config.NackPause", func(c *consumer.Config) { c.NackPause = -time.Second }},
		{"Config.BatchTime", func(c *consumer.Config) { c.BatchTime = -time.Second }},
		{`Config.Systems["erp"]: the Concurrent`, limits(ledger.Limit{Concurrent: -1})},
		{`Config.Systems["erp"]: the PerSecond`, limits(ledger.Limit{PerSecond: -1})},
		{`Config.Systems["erp"]: the PerSecond`, limits(ledger.Limit{PerSecond: math.NaN()})},
		{`Config.Systems["erp"]: the PerSecond is 1e-12, less than a call in an hour`, limits(ledger.Limit{PerSecond: 1e-12})},
		{`Config.Systems["erp"]: the Burst is negative`, limits(ledger.Limit{PerSecond: 1, Burst: -1})},
		{`Config.Systems["erp"]: a Burst of 2 without PerSecond`, limits(ledger.Limit{Concurrent: 1, Burst: 2})},
		{`Config.Systems["erp"]: it limits nothing`, limits(ledger.Limit{})},
		{"Config.Retention: Window has no effect with Off", func(c *consumer.Config) { c.Retention = inbox.Retention{Off: true, Window: time.Hour} }},
		{`Config.Build, else HEADRACE_BUILD, "1.7\n"`, func(c *consumer.Config) { c.Build = "1.7\n" }},
		{`Config.Environment, else HEADRACE_ENVIRONMENT, "a\x1b[2J"`, func(c *consumer.Config) { c.Environment = "a\x1b[2J" }},
		{"MaxAttempts", func(c *consumer.Config) { c.Retry.MaxAttempts = -1 }},
		{"Jitter", func(c *consumer.Config) { c.Retry.Backoff.Jitter = 2 }},
	} {
		config := b.config()
		c.change(&config)
		if _, err := consumer.New("test", b.st, config); err == nil || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, name := range []string{"", "a/b", "nul\x00", strings.Repeat("x", 200)} {
		if _, err := consumer.New(name, b.st, b.config()); err == nil {
			t.Errorf("name %.10q was taken", name)
		}
	}
	if _, err := consumer.New("test", nil, b.config()); err == nil {
		t.Error("a nil store was taken")
	}
}

// An interface that holds a nil pointer, as where the error of its function was dropped, is
// refused, and not called.
func TestNilPointers(t *testing.T) {
	b := setupSQLite(t)
	var source *memsource.Source
	for name, change := range map[string]func(*consumer.Config){
		"Source":         func(c *consumer.Config) { c.Source = source },
		"Sink":           func(c *consumer.Config) { c.Sink = (*sink)(nil) },
		"Codec":          func(c *consumer.Config) { c.Codec = (*cloudevents.Codec)(nil) },
		"TracerProvider": func(c *consumer.Config) { c.TracerProvider = (*tracesdk.TracerProvider)(nil) },
		"MeterProvider":  func(c *consumer.Config) { c.MeterProvider = (*metricsdk.MeterProvider)(nil) },
	} {
		config := b.config()
		change(&config)
		if _, err := consumer.New("test", b.st, config); err == nil || !strings.Contains(err.Error(), "option Config."+name+": it holds a *") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := consumer.New("test", (*sqlite.Store)(nil), b.config()); err == nil || !strings.Contains(err.Error(), "the store is nil") {
		t.Errorf("a nil store: %v", err)
	}
	for want, option := range map[string]consumer.Option{
		"option 1 of 1 is nil":                             nil,
		"From: it holds a *memsource.Source that is nil":   consumer.From(source),
		"Ingest: it holds a *memsource.Source that is nil": consumer.Ingest("dead", source, from.RabbitMQ()),
		"Codec: it holds a *cloudevents.Codec that is nil": consumer.Codec((*cloudevents.Codec)(nil)),
	} {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, insert, option)
		if err := c.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "the Consumer is nil: look at the error of consumer.New") {
			t.Errorf("Handle of a nil Consumer panics with %q", text)
		}
	}()
	consumer.Handle(nil, topic, insert)
}

// What is wrong with a registration comes out of Run, and names the handler.
//
//evidence:refused-at-start
func TestRunRefusesBadRegistrations(t *testing.T) {
	b := setupSQLite(t)
	for _, c := range []struct {
		want     string
		register func(*consumer.Consumer)
	}{
		{"no handler", func(*consumer.Consumer) {}},
		{"function is nil", func(c *consumer.Consumer) { consumer.Handle[body](c, topic, nil) }},
		{"topic is empty", func(c *consumer.Consumer) { consumer.Handle(c, "", insert) }},
		{"use two consumers, or one handler that calls both", func(c *consumer.Consumer) {
			consumer.Handle(c, topic, insert)
			consumer.Handle(c, topic, insert)
		}},
		{"another handler", func(c *consumer.Consumer) {
			consumer.Handle(c, topic, insert)
			consumer.Handle(c, "other", insert, consumer.Name(topic))
		}},
		{"not positive", func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.Timeout(0)) }},
		{"From(nil)", func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.From(nil)) }},
		{"Local() and From", func(c *consumer.Consumer) {
			consumer.Handle(c, topic, insert, consumer.From(b.src), consumer.Local())
		}},
		{"codec.Raw() gives a []byte or a string", func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.Codec(codec.Raw())) }},
		{"Codec(nil)", func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.Codec(nil)) }},
		{"Key(nil", func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.Key(nil)) }},
		{"OrderKey(nil", func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.OrderKey(nil)) }},
		{"SameWhen(nil", func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.SameWhen(nil)) }},
		{"two steps have the name", func(c *consumer.Consumer) {
			consumer.HandleLeased(c, topic, leasedNothing, consumer.Steps(charged, charged))
		}},
		{"Steps: there is no step", func(c *consumer.Consumer) { consumer.HandleLeased(c, topic, leasedNothing, consumer.Steps()) }},
		{"no Recover", func(c *consumer.Consumer) {
			consumer.HandleLeased(c, topic, leasedNothing, consumer.Steps(ledger.Step[string]{Name: "a", System: "b"}))
		}},
		{"raise DrainTimeout", func(c *consumer.Consumer) {
			slow := ledger.Step[string]{Name: "payout", System: "bank", Recover: ledger.Park, Timeout: 19 * time.Second}
			consumer.HandleLeased(c, topic, leasedNothing, consumer.Steps(charged, slow))
		}},
		{"is above that of its handler (10m0s)", func(c *consumer.Consumer) {
			slow := ledger.Step[string]{Name: "answer", System: "model", Recover: ledger.Retry, KeyWindow: ledger.Forever, Timeout: 10*time.Minute + 1}
			consumer.HandleLeased(c, topic, leasedNothing, consumer.Steps(slow))
		}},
		{"raise the handler's with consumer.Timeout", func(c *consumer.Consumer) {
			consumer.HandleLeased(c, topic, leasedNothing, consumer.Steps(charged), consumer.Timeout(time.Second))
		}},
		{"MaxAttempts", func(c *consumer.Consumer) {
			consumer.Handle(c, topic, insert, consumer.Retry(retry.Policy{MaxAttempts: -1}))
		}},
	} {
		made := b.consumer(b.config())
		c.register(made)
		if made.Err() == nil { // it would run
			t.Errorf("%s: it was taken", c.want)
			continue
		}
		if err := made.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
}

// A limit of a system that no step calls is a typing error in its name.
//
//evidence:refused-at-start
func TestRunRefusesLimitsOfOtherSystems(t *testing.T) {
	b := setupSQLite(t)
	for name, refused := range map[string]bool{"bank": false, "bnak": true} {
		config := b.config()
		config.Systems = map[string]ledger.Limit{name: {Concurrent: 1}}
		c := b.consumer(config)
		consumer.HandleLeased(c, topic, leasedNothing, consumer.Steps(charged))
		if err := c.Err(); (err != nil) != refused || refused && !strings.Contains(err.Error(), `option Config.Systems is set for "bnak"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An option that a way in would ignore is refused, under its name; every other is taken.
func TestOptionsThatAWayInIgnores(t *testing.T) {
	b := setupSQLite(t)
	several := func(context.Context, *headrace.Tx, []*headrace.Message[body]) error { return nil }
	ways := map[string]func(*consumer.Consumer, ...consumer.Option){
		"Handle":       func(c *consumer.Consumer, o ...consumer.Option) { consumer.Handle(c, topic, insert, o...) },
		"HandleBatch":  func(c *consumer.Consumer, o ...consumer.Option) { consumer.HandleBatch(c, topic, several, o...) },
		"HandleLeased": func(c *consumer.Consumer, o ...consumer.Option) { consumer.HandleLeased(c, topic, leasedNothing, o...) },
		"Local": func(c *consumer.Consumer, o ...consumer.Option) {
			consumer.Handle(c, topic, insert, append(o, consumer.Local())...)
		},
	}
	cases := map[string]struct {
		option consumer.Option
		not    []string
	}{
		"Name":        {consumer.Name("other"), nil},
		"Alone":       {consumer.Alone(), []string{"HandleBatch", "HandleLeased"}},
		"Timeout":     {consumer.Timeout(time.Minute), nil},
		"Retry":       {consumer.Retry(retry.Policy{MaxAttempts: 2}), nil},
		"Codec":       {consumer.Codec(codec.JSON()), nil},
		"Key":         {consumer.Key(inbox.MessageID()), nil},
		"SameWhen":    {consumer.SameWhen(inbox.Fields("id")), nil},
		"OrderKey":    {consumer.OrderKey(noOrder), nil},
		"Intents":     {consumer.Intents("test", "other", inbox.MessageID(), inbox.Payload(), codec.JSON()), nil},
		"From":        {consumer.From(b.src), []string{"Local"}},
		"Intake":      {consumer.Intake(), []string{"HandleLeased", "Local"}},
		"Lease":       {consumer.Lease(time.Minute), []string{"Handle", "HandleBatch", "Local"}},
		"Steps":       {consumer.Steps(charged), []string{"Handle", "HandleBatch", "Local"}},
		"Rehearsable": {consumer.Rehearsable(), []string{"HandleLeased"}},
		"Concurrency": {consumer.Concurrency(2), nil},
		"Local":       {consumer.Local(), []string{"Local"}}, // given twice there
		"Ingest":      {consumer.Ingest("dead", b.src, from.RabbitMQ()), nil},
	}
	everyOption(t, slices.Collect(maps.Keys(cases)))
	for name, c := range cases {
		for way, register := range ways {
			config := b.config()
			if way == "Local" || name == "Local" || name == "From" {
				config.Source = nil
			}
			made := b.consumer(config)
			register(made, c.option)
			err := made.Err()
			if refused := slices.Contains(c.not, way); refused != (err != nil) || refused && !strings.Contains(err.Error(), name) {
				t.Errorf("%s with %s: %v; want it refused: %t", way, name, err, refused)
			}
		}
	}
}

// Of one key, messages with the same chosen fields are one message, whatever else they say.
func TestSameWhen(t *testing.T) {
	for name, c := range map[string]struct {
		config  func(*consumer.Config)
		options []consumer.Option
		letters int
	}{
		"by default": {func(*consumer.Config) {}, nil, 1},
		"option":     {func(*consumer.Config) {}, []consumer.Option{consumer.SameWhen(inbox.Fields("n"))}, 0},
		"config":     {func(c *consumer.Config) { c.SameWhen = inbox.Fields("n") }, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := setupSQLite(t)
			config := b.config()
			c.config(&config)
			made := b.consumer(config)
			consumer.Handle(made, topic, insert, c.options...)
			b.start(made)
			b.acked(b.deliver("m", `{"n":1,"sent":"now"}`))
			b.acked(b.deliver("m", `{"n":1,"sent":"later"}`))
			if state, letters := b.state("m"), b.letters(dlq.Filter{}); state != inbox.Done || len(letters) != c.letters {
				t.Errorf("state %s, %d letters, want %d", state, len(letters), c.letters)
			}
		})
	}
}

// A consumer runs once.
func TestRunTwice(t *testing.T) {
	b := setupSQLite(t)
	c := b.consumer(b.config())
	consumer.Handle(c, topic, insert)
	if err := c.Ready(); !errors.Is(err, consumer.ErrNotRunning) {
		t.Errorf("Ready before Run: %v", err)
	}
	b.start(c)
	b.acked(b.deliver("m", `{}`))
	if err := c.Run(t.Context()); !errors.Is(err, consumer.ErrRunning) {
		t.Errorf("the second Run: %v", err)
	}
	if err := b.halt(); err != nil {
		t.Error(err)
	}
	if err := c.Alive(); !errors.Is(err, consumer.ErrNotRunning) {
		t.Errorf("Alive after Run: %v", err)
	}
}

// Run with a context that has ended already returns, and leaves nothing running.
func TestRunWithEndedContext(t *testing.T) {
	b := setupSQLite(t)
	c := b.consumer(b.config())
	consumer.Handle(c, topic, insert)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Run(ctx); err != nil {
		t.Error(err)
	}
}

// The options of one registration override those of the consumer.
func TestHandlerOptions(t *testing.T) {
	b := setupSQLite(t)
	c := b.consumer(b.config())
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if m.Scope != "test/paid" {
			t.Errorf("scope %q", m.Scope)
		}
		return errBoom
	}, consumer.Name("paid"), consumer.Retry(retry.Policy{MaxAttempts: 1}))
	b.start(c)
	b.acked(b.deliver("m", `{}`))
	if got := b.state("m"); got != "dead" {
		t.Errorf("state %q after the one attempt", got)
	}
}
