package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

type paid struct {
	ID    string `json:"id"`
	Total int    `json:"total"`
}

// night is a consumer that runs, build after build, and the command beside it.
type night struct {
	*program
	schema string // of PostgreSQL
	st     store.Store
	source *memsource.Source
	alerts chan alerts.Alert
	stop   func()
}

// The path of docs/operate.md: from an alert, by the commands that each one names, to a group that
// is resolved, with every effect once. A person decides what is wrong, and deploys; nothing is guessed.
//
//evidence:path
func TestPathOfANight(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { pathOfANight(t, newProgram(t), "") })
	t.Run("postgres", func(t *testing.T) {
		dsn, schema := pgstore.New(t)
		p := &program{T: t, dsn: dsn}
		p.run(exitDone, nil, "--schema", schema, "migrate", "up")
		pathOfANight(t, p, schema)
	})
}

const nightOrders, nightPoison = 40, 14 // every letter is of the same cause

func pathOfANight(t *testing.T, p *program, schema string) {
	n := &night{program: p, schema: schema, alerts: make(chan alerts.Alert, 16)}
	n.open()
	n.start("v1.8.0", func(o paid) error {
		if o.Total < 0 {
			return retry.Permanent(errors.New("the total is negative"))
		}
		return nil
	})
	for i := range nightOrders {
		total := 100
		if i < nightPoison {
			total = -100
		}
		m := n.source.Deliver("orders.paid", fmt.Sprint("order-", i), fmt.Appendf(nil, `{"id":"order-%d","total":%d}`, i, total), nil)
		if acked, err := memsource.Outcome(t.Context(), m); err != nil || !acked {
			t.Fatalf("order %d: %v, %v", i, acked, err)
		}
	}
	alert := <-n.alerts
	if alert.Kind != alerts.GroupFailing || alert.Phase != alerts.Firing || alert.Severity != alerts.Warning {
		t.Errorf("alert %+v", alert)
	}
	n.stop()

	n.start("v1.8.1", func(paid) error { return nil }) // the fix, deployed
	defer func() { n.stop() }()
	commands := n.follow(alert.Text)
	if len(commands) > 4 {
		t.Errorf("%d commands: %q", len(commands), commands)
	}
	if said := n.stdout.String(); !strings.Contains(said, " is resolved in v1.8.1\n") {
		t.Errorf("the last command does not say that the group is resolved: %s", said)
	}
	n.program.run(exitDone, nil, n.args("check")...)
	n.resolved()
	n.allClear(alert)
	if effects, orders := n.count(); effects != nightOrders || orders != nightOrders {
		t.Errorf("%d effects of %d orders, want %d", effects, orders, nightOrders)
	}
}

var (
	firstCommand = regexp.MustCompile(`headrace (dlq why [0-9a-f]+)`)
	nextCommand  = regexp.MustCompile(`(?m)^headrace: next: headrace (.*)$`)
)

// follow runs the command that text names, then what each one names, until one names none.
func (n *night) follow(text string) (commands []string) {
	n.Helper()
	found := firstCommand.FindStringSubmatch(text)
	for found != nil {
		command := strings.ReplaceAll(found[1], "WHY", "mended")
		commands = append(commands, command)
		if len(commands) > 10 {
			n.Fatalf("no end: %q", commands)
		}
		n.stdin = "yes\n"
		n.program.run(exitDone, func(m *Main) { m.Terminal = func(any) bool { return true } }, n.args(strings.Fields(command)...)...)
		n.Logf("$ headrace %s\n%s%s", command, &n.stdout, &n.stderr)
		if rehearsed := fmt.Sprintf("ok    %d of %[1]d rehearsed letters would pass on v1.8.1, ", nightPoison); strings.HasPrefix(command, "redrive plan") && !strings.Contains(n.stdout.String(), rehearsed) {
			n.Errorf("the plan does not tell of the rehearsal: %s", &n.stdout)
		}
		found = nextCommand.FindStringSubmatch(n.stderr.String())
	}
	return commands
}

// allClear waits for the alert that says that the incident of fired is over.
func (n *night) allClear(fired alerts.Alert) {
	n.Helper()
	for {
		select {
		case a := <-n.alerts:
			if a.Key != fired.Key && a.Phase != "" { // that the redrive has ended is an event
				n.Errorf("alert of another incident: %+v", a)
			}
			if a.Phase == alerts.Resolved {
				return
			}
		case <-time.After(30 * time.Second):
			n.Fatal("the alert was never resolved")
		}
	}
}

func (n *night) args(args ...string) []string {
	if n.schema != "" && !slices.Contains(args, "--schema") { // a next command has it
		return append([]string{"--schema", n.schema}, args...)
	}
	return args
}

func (n *night) open() {
	n.Helper()
	db, err := parseDSN(n.dsn)
	if err != nil {
		n.Fatal(err)
	}
	st, err := New().open(n.Context(), db, n.schema, false)
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { _ = st.Close() })
	n.st = st
	err = store.Transact(n.Context(), st, func(t *txn.Txn) error {
		_, err := t.ExecContext(n.Context(), "CREATE TABLE "+n.table()+" (id text, total integer)")
		return err
	})
	if err != nil {
		n.Fatal(err)
	}
}

func (n *night) table() string {
	if n.schema != "" {
		return n.schema + ".invoices"
	}
	return "invoices"
}

// start runs the consumer with a build, whose handler says what check says of an order.
func (n *night) start(build string, check func(paid) error) {
	n.Helper()
	n.source = memsource.New()
	c, err := consumer.New("billing", n.st, consumer.Config{
		Build: build, Source: n.source, Rehearsable: true, Alerts: alerts.Options{Quiet: time.Second},
		Alert: func(_ context.Context, a alerts.Alert) error { n.alerts <- a; return nil },
	})
	if err != nil {
		n.Fatal(err)
	}
	insert := "INSERT INTO " + n.table() + " VALUES ($1, $2)"
	consumer.Handle(c, "orders.paid", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[paid]) error {
		if err := check(m.Body); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, insert, m.Body.ID, m.Body.Total)
		return err
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	waitsListed(n.Fatalf, n.st.Operations().Instances, build)
	n.stop = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			n.Error(err)
		}
	})
}

// resolved waits until the processes have found that the group is resolved.
func (n *night) resolved() {
	n.Helper()
	waits(n.Fatalf, "the group is resolved", func() bool {
		list, err := n.st.Operations().Groups.List(n.Context(), groups.Filter{Consumer: "billing", Closed: true})
		return err == nil && len(list) == 1 && list[0].State == groups.Resolved && list[0].Open == 0
	})
}

func (n *night) count() (effects, orders int) {
	n.Helper()
	err := store.Transact(n.Context(), n.st, func(t *txn.Txn) error {
		return t.QueryRowContext(n.Context(), "SELECT count(*), count(DISTINCT id) FROM "+n.table()).Scan(&effects, &orders)
	})
	if err != nil {
		n.Fatal(err)
	}
	return effects, orders
}
