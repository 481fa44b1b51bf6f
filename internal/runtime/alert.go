package runtime

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/watching"
	"github.com/headrace/headrace/outbox/relay"
)

// alertSender sends alerts: those of this process at once, and those that watch judges from the
// tables.
type alertSender struct {
	rt      *Runtime
	sinks   *alerting.Sinks
	watch   *watching.Watch // set by startWatch
	pausing sync.Mutex      // see pauseChanged
	sources sync.Mutex      // see sourcesChanged
}

// startWatch returns what judges the tables, for the instance of this run.
func (s *alertSender) startWatch(id string) *watching.Watch {
	s.watch = watching.New(watching.Options{
		Store: s.rt.Store, Consumer: s.rt.Name, Owner: id, Environment: s.rt.Environment, Build: s.rt.Build, OpenLetters: s.rt.Retention.OpenLetters,
		Alerts: s.rt.Alerts.WithDefaults(), Callers: s.sinks.Callers, Logger: s.rt.Logger.With("consumer", s.rt.Name),
	})
	return s.watch
}

// close ends the sinks, each with one more try, within Grace.
func (s *alertSender) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), Grace)
	defer cancel()
	return s.sinks.Close(ctx)
}

// forward sends an alert of this process to each sink.
func (s *alertSender) forward(a alerts.Alert) {
	a.Environment, a.Build = s.rt.Environment, s.rt.Build
	s.sinks.Send(a)
}

// send sends an alert about this process.
func (s *alertSender) send(kind alerts.Kind, h *task.Handler, text string) {
	a := alerts.Alert{Kind: kind, Consumer: s.rt.Name, Text: text, At: time.Now()}
	if h != nil {
		a.Handler, a.Topic = h.Name, h.Topic
	}
	s.forward(a)
}

// outcome wakes the watch after an outcome that wrote a dead letter.
func (s *alertSender) outcome(o task.Outcome) {
	if o == task.Dead || o == task.Conflict {
		s.watch.Wake()
	}
}

// pauseChanged reports whether the consumer takes messages; resumed is the text if it
// does. The database and a person may both pause it: the end of one pause does not end
// the other. Only one call at a time reads and sends, so that the newest alert is right.
// A person's reason is not sent: it stays in the table.
func (s *alertSender) pauseChanged(resumed string) {
	s.pausing.Lock()
	defer s.pausing.Unlock()
	_, paused := s.rt.Pause.Get()
	switch {
	case s.rt.Breaker.Err() != nil:
		s.send(alerts.Paused, nil, "the database does not take our statements; messages are held, no attempt is spent")
	case paused:
		s.send(alerts.Paused, nil, "a person paused the consumer, and it takes no messages: see headrace consumer ls")
	default:
		s.send(alerts.Resumed, nil, resumed)
	}
}

// sourcesChanged reports which subscriptions their brokers do not serve: a consumer is one
// group of these alerts, since most often one broker has all its topics. Only one call at a
// time reads and sends, so that the newest alert is right. What the broker said is in the
// log and in Ready.
func (s *alertSender) sourcesChanged() {
	s.sources.Lock()
	defer s.sources.Unlock()
	down := s.rt.Subscriptions.Down()
	if len(down) == 0 {
		s.send(alerts.SourceUp, nil, "the brokers serve all subscriptions again")
		return
	}
	topics := make([]string, len(down))
	for i, sub := range down {
		topics[i] = strconv.Quote(sub.Topic)
	}
	s.send(alerts.SourceDown, nil, "the broker does not serve "+encode.Text(strings.Join(topics, ", "), maxTopics)+
		": no messages come from there; it is tried again, and none is lost: see the log")
}

// maxTopics is how many bytes of topics an alert has at most.
const maxTopics = 500

// relayStalled reports a change of the relay, which the consumers of a store share.
func (s *alertSender) relayStalled(cause error) {
	kind, text := alerts.RelayStalled, "the sink confirms nothing: events wait in the outbox, none is lost or parked: see headrace outbox status"
	switch {
	case cause == nil:
		kind, text = alerts.RelayResumed, "events are published again"
	case errors.Is(cause, relay.ErrWaiting):
		text = "other processes publish this outbox to another sink: this one publishes nothing until those have ended: see headrace outbox status"
	}
	s.send(kind, nil, text)
}

// Alert sends an alert about this process. h may be nil.
func (r *Run) Alert(kind alerts.Kind, h *task.Handler, text string) { r.alerts.send(kind, h, text) }
