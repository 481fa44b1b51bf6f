package consumer_test

import (
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/outbox/relay"
	"github.com/headrace/headrace/retry"
)

// accepted are the fields of Config that are accepted with any handlers: they are the
// consumer's own, limits, or defaults that a handler may override.
var accepted = []string{
	"Name", "Sink", "Key", "SameWhen", "OrderKey", "Strict", "Retry", "Codec", "Concurrency", "BatchTime",
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
	for _, field := range reflect.VisibleFields(reflect.TypeFor[consumer.Config]()) {
		if !slices.Contains(said, field.Name) {
			t.Errorf("no row of this test says whether Config.%s may be ignored", field.Name)
		}
	}
}

// An option that is given twice is refused: one of the two would be ignored.
func TestOptionGivenTwice(t *testing.T) {
	b := setupSQLite(t)
	for name, o := range map[string]consumer.Option{
		"Name": consumer.Name("other"), "Alone": consumer.Alone(), "Timeout": consumer.Timeout(time.Minute),
		"Retry": consumer.Retry(retry.Policy{}), "Codec": consumer.Codec(codec.JSON()), "Key": consumer.Key(inbox.MessageID()),
		"SameWhen": consumer.SameWhen(inbox.Fields("id")), "From": consumer.From(b.src), "Intake": consumer.Intake(),
		"Concurrency": consumer.Concurrency(2), "Local": consumer.Local(), "Lease": consumer.Lease(time.Minute),
	} {
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
