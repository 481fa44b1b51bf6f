package consumer_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq/from"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/retry"
)

// accepted are the fields of Config that are accepted with any handlers: they are the
// consumer's own, or defaults that handlers may override. TestConfigThatIsOverridden has those
// of which Run warns.
var accepted = []string{
	"Name", "Sink", "Key", "SameWhen", "OrderKey", "Strict", "Retry", "Codec", "Concurrency",
	"MaxInFlightBytes", "HandlerTimeout", "DrainTimeout", "Retention", "Redact", "Environment", "Build", "Logger", "Alert", "Alerts",
	"TracerProvider", "MeterProvider",
}

// A field of Config that has no effect on any handler is refused, and the error names it. It
// is accepted if there is a handler that uses it.
func TestConfigThatIsIgnored(t *testing.T) {
	b := setupSQLite(t)
	source := memsource.New()
	local := func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.Local()) }
	alone := func(c *consumer.Consumer) {
		consumer.Handle(c, topic, insert, consumer.From(source), consumer.Alone())
	}
	plain := func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.From(source)) }
	intake := func(c *consumer.Consumer) {
		consumer.Handle(c, topic, insert, consumer.From(source), consumer.Alone(), consumer.Intake())
	}
	stepped := func(c *consumer.Consumer) {
		consumer.HandleLeased(c, topic, leasedNothing, consumer.From(source), consumer.Steps(charged))
	}
	type register = func(*consumer.Consumer)
	rows := []struct {
		field         string
		change        func(*consumer.Config)
		ignores, uses register
	}{
		{"Source", func(c *consumer.Config) { c.Source = source }, local, func(c *consumer.Consumer) { consumer.Handle(c, topic, insert) }},
		{"Relay", func(c *consumer.Config) { c.Relay = relay.Options{Logger: slog.Default()} }, plain, nil},
		{"DeadLetterTopic", func(c *consumer.Config) { c.DeadLetterTopic = func(s string) string { return s } }, plain, nil},
		{"NackPause", func(c *consumer.Config) { c.NackPause = time.Minute }, local, plain},
		{"MaxInFlight", func(c *consumer.Config) { c.MaxInFlight = 7 }, local, plain},
		{"MaxBatch", func(c *consumer.Config) { c.MaxBatch = 7 }, alone, intake},
		{"BatchTime", func(c *consumer.Config) { c.BatchTime = time.Second }, alone, intake},
		{"Systems", func(c *consumer.Config) { c.Systems = map[string]ledger.Limit{"bank": {Concurrent: 1}} }, plain, stepped},
		{"Rehearsable", func(c *consumer.Config) { c.Rehearsable = true }, alone, plain},
	}
	said := slices.Clone(accepted)
	try := func(change func(*consumer.Config), r register) error {
		config := consumer.Config{Logger: b.config().Logger}
		change(&config)
		c, err := consumer.New("test", b.st, config)
		if err == nil {
			r(c)
			err = c.Err()
		}
		return err
	}
	for _, row := range rows {
		said = append(said, row.field)
		if err := try(row.change, row.ignores); err == nil || !strings.Contains(err.Error(), "option Config."+row.field+" is set") {
			t.Errorf("%s: %v", row.field, err)
		}
		uses, change := row.uses, row.change
		if uses == nil { // what publishes
			uses, change = row.ignores, func(c *consumer.Config) { row.change(c); c.Sink = &sink{} }
		}
		if err := try(change, uses); err != nil {
			t.Errorf("%s is refused where it has an effect: %v", row.field, err)
		}
	}
	everyField(t, said)
}

// Run logs one warning of the fields that say which messages are the same, and in which order, if
// each handler overrides them.
func TestConfigThatIsOverridden(t *testing.T) {
	b := setupSQLite(t)
	key, sameWhen, orderKey := consumer.Key(inbox.JSON("id")), consumer.SameWhen(inbox.Fields("id")), consumer.OrderKey(noOrder)
	kind := intent.Kind[body]{Consumer: "test", Handler: topic, Key: inbox.JSON("n")}
	for name, c := range map[string]struct {
		first, second []consumer.Option
		want          string
	}{
		"by none":       {nil, nil, ""},
		"by one of two": {[]consumer.Option{key, sameWhen, orderKey}, nil, ""},
		"by both":       {[]consumer.Option{key, sameWhen}, []consumer.Option{key, orderKey}, "options=[Config.Key]"},
		"by an intent":  {[]consumer.Option{kind.Option()}, []consumer.Option{key, sameWhen}, `options="[Config.Key Config.SameWhen]"`},
	} {
		log := &lines{}
		config := b.config()
		config.Source, config.Key, config.SameWhen, config.OrderKey = nil, inbox.MessageID(), inbox.Payload(), noOrder
		config.Logger = slog.New(slog.NewTextHandler(log, nil))
		made := b.consumer(config)
		consumer.Handle(made, topic, insert, append(c.first, consumer.From(&checked{Source: memsource.New()}))...)
		consumer.Handle(made, "other", insert, append(c.second, consumer.Local())...)
		if err := made.Run(t.Context()); !errors.Is(err, errChecked) {
			t.Fatalf("%s: Run: %v", name, err)
		}
		warns := strings.Count(log.String(), "each handler overrides them")
		if (c.want != "") != (warns == 1) || !strings.Contains(log.String(), c.want) {
			t.Errorf("%s: no %q in %s", name, c.want, log)
		}
	}
}

// everyField checks that a test names each field of Config.
func everyField(t *testing.T, said []string) {
	t.Helper()
	for _, field := range reflect.VisibleFields(reflect.TypeFor[consumer.Config]()) {
		if !slices.Contains(said, field.Name) {
			t.Errorf("this test does not say whether Config.%s may be ignored", field.Name)
		}
	}
}

// A field of Config that Attach would ignore is refused, under its name.
func TestConfigThatAttachIgnores(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	said := []string{
		"Name", "Sink", "Relay", "Key", "SameWhen", "OrderKey", "Strict", "Codec", "Concurrency", "MaxInFlight",
		"MaxInFlightBytes", "HandlerTimeout", "DrainTimeout", "NackPause", "DeadLetterTopic", "Retention", "Redact",
		"Environment", "Build", "Logger", "Alert", "Alerts", "TracerProvider", "MeterProvider",
	}
	for field, change := range map[string]func(*consumer.Config){
		"Source":      func(c *consumer.Config) { c.Source = b.src },
		"MaxBatch":    func(c *consumer.Config) { c.MaxBatch = 2 },
		"BatchTime":   func(c *consumer.Config) { c.BatchTime = time.Second },
		"Rehearsable": func(c *consumer.Config) { c.Rehearsable = true },
		"Systems":     func(c *consumer.Config) { c.Systems = map[string]ledger.Limit{"bank": {Concurrent: 1}} },
		"Retry": func(c *consumer.Config) { // as far as it is about leases
			c.Retry.Overrides = map[retry.Class]retry.Override{retry.Lost: {MaxAttempts: 5}}
		},
	} {
		said = append(said, field)
		r := b.router()
		r.router.AddConsumerHandler("h", topic, b.src, effect)
		config := r.attached()
		change(&config)
		if _, err := consumer.Attach(r.router, b.st, config); err == nil || !strings.Contains(err.Error(), "option Config."+field+" is set") {
			t.Errorf("%s: %v", field, err)
		}
	}
	everyField(t, said)
}

// The Router ends its Run at its CloseTimeout, so a drain time that is not shorter would be
// cut off: it is refused, the default too.
func TestDrainTimeoutOfAttach(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	for name, c := range map[string]struct {
		closes, drain time.Duration
		want          string
	}{
		"shorter":                       {2 * time.Second, time.Second, ""},
		"as long":                       {time.Second, time.Second, "Config.DrainTimeout (1s) is not below the Router's CloseTimeout (1s)"},
		"longer than the default":       {0, time.Minute, "Config.DrainTimeout (1m0s) is not below the Router's CloseTimeout (30s)"},
		"the default of both":           {0, 0, ""},
		"the default, longer than that": {10 * time.Second, 0, "Config.DrainTimeout (20s) is not below the Router's CloseTimeout (10s)"},
	} {
		router, err := message.NewRouter(message.RouterConfig{CloseTimeout: c.closes}, watermill.NopLogger{})
		if err != nil {
			t.Fatal(err)
		}
		router.AddConsumerHandler("h", topic, b.src, effect)
		_, err = consumer.Attach(router, b.st, consumer.Config{Name: "test", Sink: &published{}, DrainTimeout: c.drain})
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// The relay has no longer at a stop than the consumer: a longer time would be cut short.
func TestStopTimeoutAboveDrainTimeout(t *testing.T) {
	b := setupSQLite(t)
	for name, c := range map[string]struct {
		stop, drain time.Duration
		refused     bool
	}{
		"above the default": {time.Minute, 0, true},
		"above":             {2 * time.Second, time.Second, true},
		"as long":           {time.Minute, time.Minute, false},
		"the default of both where the drain is shorter": {0, time.Second, false},
	} {
		config := b.config()
		config.Sink, config.Relay.StopTimeout, config.DrainTimeout = &sink{}, c.stop, c.drain
		_, err := consumer.New("test", b.st, config)
		if c.refused != (err != nil) || c.refused && !strings.Contains(err.Error(), "option Config.Relay.StopTimeout") {
			t.Errorf("%s: %v, want it refused: %t", name, err, c.refused)
		}
	}
}

// The options of the relay are refused by New, as all others are.
func TestRelayIsRefusedByNew(t *testing.T) {
	b := setupSQLite(t)
	config := b.config()
	config.Sink, config.Relay.Workers = &sink{}, -1
	if _, err := consumer.New("test", b.st, config); err == nil || !strings.Contains(err.Error(), "option Config.Relay: ") || !strings.Contains(err.Error(), "Workers is negative") {
		t.Errorf("%v", err)
	}
}

// What a policy says of lost leases is for handlers that have some, as an option and as the
// default of Config.Retry.
func TestRetryOfLostLeases(t *testing.T) {
	b := setupSQLite(t)
	lost := retry.Policy{Overrides: map[retry.Class]retry.Override{retry.Lost: {Backoff: retry.Backoff{Initial: time.Minute}}}}
	c := b.consumer(b.config())
	consumer.Handle(c, topic, insert, consumer.Retry(lost))
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), `Retry: Overrides["lost"]`) {
		t.Errorf("Handle: %v", err)
	}
	c = b.consumer(b.config())
	consumer.HandleLeased(c, topic, leasedNothing, consumer.Retry(lost))
	if err := c.Err(); err != nil {
		t.Errorf("HandleLeased: %v", err)
	}
	config := b.config()
	config.Retry = lost
	c = b.consumer(config)
	consumer.Handle(c, topic, insert)
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), `option Config.Retry is set, with Overrides["lost"]`) {
		t.Errorf("Config.Retry: %v", err)
	}
	consumer.HandleLeased(c, "slow", leasedNothing)
	if err := c.Err(); err != nil {
		t.Errorf("Config.Retry beside a leased handler: %v", err)
	}
}

func leasedNothing(context.Context, *headrace.Message[body]) (headrace.Effects, error) {
	return nil, nil
}

// everyOption checks that said are all exported functions of the package that return an
// Option.
func everyOption(t *testing.T, said []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Results == nil {
				continue
			}
			if of, ok := f.Type.Results.List[0].Type.(*ast.Ident); ok && of.Name == "Option" {
				found = append(found, f.Name.Name)
			}
		}
	}
	slices.Sort(found)
	if slices.Sort(said); !slices.Equal(found, said) {
		t.Errorf("the package has the options %q, and this test says %q", found, said)
	}
}

// noOrder is an order key that no message has.
func noOrder(*headrace.Delivery) string { return "" }

// An option that is given twice is refused: one of the two would be ignored.
func TestOptionGivenTwice(t *testing.T) {
	b := setupSQLite(t)
	options := map[string]consumer.Option{
		"Name": consumer.Name("other"), "Alone": consumer.Alone(), "Timeout": consumer.Timeout(time.Minute),
		"Retry": consumer.Retry(retry.Policy{}), "Codec": consumer.Codec(codec.JSON()), "Key": consumer.Key(inbox.MessageID()),
		"SameWhen": consumer.SameWhen(inbox.Fields("id")), "OrderKey": consumer.OrderKey(noOrder), "From": consumer.From(b.src), "Intake": consumer.Intake(),
		"Concurrency": consumer.Concurrency(2), "Local": consumer.Local(), "Lease": consumer.Lease(time.Minute),
		"Steps": consumer.Steps(charged), "Rehearsable": consumer.Rehearsable(), "Ingest": consumer.Ingest("dead", b.src, from.RabbitMQ()), "Intents": consumer.Intents("test", "other", inbox.MessageID(), inbox.Payload(), nil),
	}
	everyOption(t, slices.Collect(maps.Keys(options)))
	for name, o := range options {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, insert, o, o)
		if err := c.Err(); err == nil || !strings.Contains(err.Error(), name+" is given twice") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A topic with a blank at an edge, or a control character, is refused: it is a typing
// mistake, and a broker may have or make a topic of that name.
func TestTopicWithBlanks(t *testing.T) {
	b := setupSQLite(t)
	for _, name := range []string{" orders", "orders ", "orders\n", "or\tders", "\u00a0orders", "\u0085", strings.Repeat("x", 1025)} {
		c := b.consumer(b.config())
		consumer.Handle(c, name, insert, consumer.Name("orders"))
		if err := c.Err(); err == nil || !strings.Contains(err.Error(), "the topic") {
			t.Errorf("%q: %v", name, err)
		}
	}
	c := b.consumer(b.config())
	consumer.Handle(c, "new orders/é", insert)
	if err := c.Err(); err != nil {
		t.Error(err)
	}
}
