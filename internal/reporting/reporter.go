package reporting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/pause"
	"github.com/headrace/headrace/internal/subscription"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/watching"
	"github.com/headrace/headrace/outbox/relay"
)

// Options are what a Reporter works with.
type Options struct {
	// Watch are those of the Watch, without Callers, Away and Direct.
	Watch watching.Options
	// Called is told of each call of a sink, as by alerting.NewSinks.
	Called func(sink string, kind alerts.Kind, ok bool)
	// These say what is wrong.
	Breaker       *breaker.Breaker
	Pause         *pause.State
	Subscriptions *subscription.Set
	// Left has the calls of handlers that do not return, and Grace is for how long they were
	// waited for.
	Left  *task.LeftBehind
	Grace time.Duration
}

// Reporter says what is wrong with a process. It is safe for concurrent use, and none of its methods
// but Close blocks.
type Reporter struct {
	// Watch has the reports that last. Another one runs it.
	Watch   *watching.Watch
	o       Options
	sinks   *alerting.Sinks
	pausing sync.Mutex // see Pausing
	sources sync.Mutex // see Sources
}

// New returns a Reporter, whose sinks are called from now on. The caller closes it.
func New(o Options) *Reporter {
	r := &Reporter{o: o, sinks: alerting.NewSinks(o.Watch.Consumer, o.Watch.Alerts, o.Watch.Logger, o.Called)}
	o.Watch.Alerts = o.Watch.Alerts.WithDefaults()
	o.Watch.Callers, o.Watch.Direct = r.sinks.Callers, r.Forward
	o.Watch.Away = func() bool { return o.Breaker.Err() != nil }
	r.Watch = watching.New(o.Watch)
	return r
}

// Close ends the sinks, each with one more try, within limit.
func (r *Reporter) Close(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return r.sinks.Close(ctx)
}

// Dropped returns how many alerts were dropped.
func (r *Reporter) Dropped() int64 { return r.sinks.Dropped() }

// Forward sends an alert of this process to each sink.
func (r *Reporter) Forward(a alerts.Alert) {
	r.Watch.Label(&a)
	r.sinks.Send(a)
}

// severities are those of what a process says.
var severities = map[alerts.Kind]alerts.Severity{
	alerts.Paused: alerts.Warning, alerts.SourceDown: alerts.Critical, alerts.RelayStalled: alerts.Critical, alerts.SubscriptionEnded: alerts.Critical,
	alerts.WrongOrder: alerts.Critical, alerts.HandlerStuck: alerts.Error, alerts.WebhookRefused: alerts.Error,
}

// alert is one of this process. h may be nil.
func (r *Reporter) alert(kind alerts.Kind, h *task.Handler, text string) alerts.Alert {
	name := r.o.Watch.Consumer
	a := alerts.Alert{
		Kind: kind, Severity: severities[kind], Consumer: name, Title: name + ": " + text, Text: text, Command: "headrace consumer ls " + name, At: time.Now(),
	}
	if h != nil {
		a.Handler, a.Topic = h.Name, h.Topic
	}
	return a
}

// Outcome has the watch look soon after an outcome that wrote a dead letter.
func (r *Reporter) Outcome(o task.Outcome) {
	if o == task.Dead || o == task.Conflict {
		r.Watch.Wake()
	}
}

// Ended says that a subscription has ended, or that a Router has a wrong order: it lasts until the process
// ends. h may be nil.
func (r *Reporter) Ended(kind alerts.Kind, h *task.Handler, text string) {
	r.Watch.Report(r.alert(kind, h, text))
}

// over ends a report; that its kind is good is said where the report was not a row.
func (r *Reporter) over(kind, good alerts.Kind, text string) {
	r.Watch.Over(kind, "", "", r.alert(good, nil, text))
}

// Stuck says that a call of a handler does not return.
func (r *Reporter) Stuck(h *task.Handler) {
	a := r.alert(alerts.HandlerStuck, h, fmt.Sprintf("a handler did not return %s after its context had ended, and still runs: it ignores the context, or a statement of its transaction gets no answer", r.o.Grace))
	a.Count = int64(r.o.Left.Of(h.Name))
	r.Watch.Report(a)
	r.Returned(h) // in the meantime, perhaps
}

// Returned says that a call has returned after all.
func (r *Reporter) Returned(h *task.Handler) {
	if r.o.Left.Of(h.Name) <= 0 {
		r.Watch.Over(alerts.HandlerStuck, h.Name, h.Topic, alerts.Alert{})
	}
}

// Pausing says whether the consumer takes messages; resumed is the text if it does. The database and
// a person may both pause it: the end of one pause does not end the other. Only one call at a time
// reads and says, so that the newest is right. A person's reason is not sent: it stays in the table.
// resumed is the text if a person has ended the pause, and "" if the database has.
func (r *Reporter) Pausing(resumed string) {
	r.pausing.Lock()
	defer r.pausing.Unlock()
	_, paused := r.o.Pause.Get()
	switch {
	case r.o.Breaker.Err() != nil:
		a := r.alert(alerts.Paused, nil, "the database cannot run our statements; messages wait, and no attempt is spent")
		a.Severity = alerts.Critical
		r.Watch.Report(a)
	case paused:
		r.Watch.Report(r.alert(alerts.Paused, nil, "a person paused the consumer, and it takes no messages: see headrace consumer ls"))
	default:
		r.over(alerts.Paused, alerts.Resumed, cmp.Or(resumed, "messages are handled again"))
	}
}

// Sources says which subscriptions their brokers do not serve: a consumer is one condition, since
// most often one broker has all its topics. Only one call at a time reads and says, so that the
// newest is right. What the broker said is in the log and in Ready.
func (r *Reporter) Sources() {
	r.sources.Lock()
	defer r.sources.Unlock()
	down := r.o.Subscriptions.Down()
	if len(down) == 0 {
		r.over(alerts.SourceDown, alerts.SourceUp, "the brokers serve all subscriptions again")
		return
	}
	topics := make([]string, len(down))
	for i, sub := range down {
		topics[i] = strconv.Quote(sub.Topic)
	}
	a := r.alert(alerts.SourceDown, nil, "the broker does not serve "+encode.Text(strings.Join(topics, ", "), maxTopics)+
		": no messages come from there; it is tried again, and none is lost: see the log")
	a.Count = int64(len(down))
	r.Watch.Report(a)
}

// Refusal says why a source refuses all that is sent to a topic; nil if it does not.
func (r *Reporter) Refusal(topic string, why error) {
	if why == nil {
		r.Watch.Over(alerts.WebhookRefused, "", topic, alerts.Alert{})
		return
	}
	a := r.alert(alerts.WebhookRefused, nil, why.Error())
	a.Topic = topic
	r.Watch.Report(a)
}

// maxTopics is how many bytes of topics an alert has at most.
const maxTopics = 500

// Relay says whether the relay publishes, which the consumers of a store share.
func (r *Reporter) Relay(cause error) {
	text := "the sink confirms nothing, or its broker is away: events wait in the outbox, none is lost or parked: see headrace outbox status"
	switch {
	case cause == nil:
		r.over(alerts.RelayStalled, alerts.RelayResumed, "events are published again")
		return
	case errors.Is(cause, relay.ErrWaiting):
		text = "other processes publish this outbox to another sink: this one publishes nothing until those have ended, and its events go there; if they are of another service, give each an outbox of its own (Options.Outbox): see headrace outbox status"
	case errors.Is(cause, relay.ErrOwned):
		text = cause.Error()
	}
	a := r.alert(alerts.RelayStalled, nil, text)
	a.Command = "headrace outbox status"
	r.Watch.Report(a)
}
