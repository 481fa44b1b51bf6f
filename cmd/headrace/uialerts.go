package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/sinks"
	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/internal/watching"
	"github.com/headrace/headrace/store"
)

// receivers are who is told of alerts.
type receivers struct {
	alerts.Options
	pulses []pulse
	limits sinks.Options
	lines  map[string]int // by name: the line of a receiver
}

// pulse is a heartbeat with its name, for the log.
type pulse struct {
	*sinks.Pulse
	name string
}

// readReceivers reads a file with a line for each: its kind, and what it needs; "" has none. Errors
// show the number of the line and none of its words, which are secrets.
func readReceivers(file string) (r receivers, err error) {
	if file == "" {
		return r, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	var lines [][]string
	for i, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		lines = append(lines, words)
		if len(words) != 2 || words[0] != "allow" {
			continue
		}
		network, err := netip.ParsePrefix(words[1])
		if err != nil {
			return r, usagef("%s, line %d: no network such as 10.0.0.0/8", file, i+1)
		}
		r.limits.Allow, r.limits.Plain = append(r.limits.Allow, network), true
	}
	for i, words := range lines {
		if len(words) == 0 || strings.HasPrefix(words[0], "#") || words[0] == "allow" && len(words) == 2 {
			continue
		}
		if err := r.add(i+1, words[0], words[1:]); err != nil {
			return r, usagef("%s, line %d: %v", file, i+1, err)
		}
	}
	if err := r.Validate(); err != nil {
		return r, usagef("%s: %v", file, err)
	}
	if len(r.Sinks)+len(r.pulses) == 0 {
		return r, usagef("%s has no receiver", file)
	}
	return r, nil
}

var errNoReceiver = errors.New("it is not one of slack URL, pagerduty KEY, pagerduty-eu KEY, alertmanager URL…, webhook URL SECRET, heartbeat URL, allow NETWORK, pages URL; a receiver may have name=NAME behind its kind")

// fitName is what names a receiver: in the tables, in alert ls and as a label of metrics.
var fitName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// named takes the name of a receiver from what its line says: that of its kind if it gives none. Two of a file have two.
func (r *receivers) named(line int, kind string, args []string) (name string, rest []string, err error) {
	name, rest = strings.TrimSuffix(kind, "-eu"), args
	if len(args) > 0 && strings.HasPrefix(args[0], "name=") {
		if name, rest = strings.TrimPrefix(args[0], "name="), args[1:]; !fitName.MatchString(name) {
			return "", nil, errors.New("a name has 1 to 40 letters, digits, - and _")
		}
	}
	if before := r.lines[name]; before != 0 {
		return "", nil, fmt.Errorf("it cannot be told apart from line %d: name one of them, as in %s name=ops", before, kind)
	}
	if r.lines == nil {
		r.lines = make(map[string]int)
	}
	r.lines[name] = line
	return name, rest, nil
}

// add adds what a line says.
func (r *receivers) add(line int, kind string, args []string) (err error) {
	limits := r.limits
	if slices.Contains([]string{"slack", "pagerduty", "pagerduty-eu", "alertmanager", "webhook", "heartbeat"}, kind) {
		if limits.Name, args, err = r.named(line, kind, args); err != nil {
			return err
		}
	}
	one := ""
	if len(args) > 0 {
		one = args[0]
	}
	var sink alerts.Sink
	switch {
	case kind == "alertmanager" && len(args) > 0:
		sink, err = sinks.Alertmanager(args, limits)
	case kind == "webhook" && (len(args) == 2 || len(args) == 3):
		sink, err = sinks.WebhookV2(one, args[1:], limits)
	case len(args) != 1:
		return errNoReceiver
	case kind == "slack":
		sink, err = sinks.Slack(one, limits)
	case kind == "pagerduty":
		sink, err = sinks.PagerDuty(sinks.PagerDutyUS, one, limits)
	case kind == "pagerduty-eu":
		sink, err = sinks.PagerDuty(sinks.PagerDutyEU, one, limits)
	case kind == "pages":
		r.URL = one
		return nil
	case kind == "heartbeat":
		p, err := sinks.Heartbeat(one, limits)
		r.pulses = append(r.pulses, pulse{p, limits.Name})
		return err
	default:
		return errNoReceiver
	}
	r.Sinks = append(r.Sinks, sink)
	return err
}

// watch sends the alerts of the database to r, until ctx ends. A consumer that has no process cannot send
// that itself.
func (r receivers) watch(ctx context.Context, st store.Store, environment string, logger *slog.Logger) {
	if len(r.Sinks)+len(r.pulses) == 0 {
		return
	}
	all := alerting.NewSinks("", r.Options, logger, nil)
	w := watching.New(watching.Options{
		Store: st, Owner: uuid.NewString(), Environment: environment, Alerts: r.WithDefaults(), Callers: all.Callers, Logger: logger,
	})
	var tasks sync.WaitGroup
	tasks.Go(func() { w.Run(ctx) })
	for _, p := range r.pulses {
		tasks.Go(func() {
			p.Run(ctx, func() error { return st.Ping(ctx) }, func(err error) { logger.Warn("the heartbeat was not sent", "heartbeat", p.name, "error", err) })
		})
	}
	tasks.Wait()
	_ = all.Close(ctx) // nothing waits in them
}
