package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqladmin"
	"github.com/headrace/headrace/internal/sqlconditions"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/internal/sqlgroups"
	"github.com/headrace/headrace/internal/sqljobs"
	"github.com/headrace/headrace/internal/sqlops"
	"github.com/headrace/headrace/internal/sqlrequests"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/internal/sqlsearch"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

// Options are a driver's options for its tables.
type Options struct {
	// Schema is the name of the schema, for the numbers of locks. Scripts are the migrations
	// that this build needs.
	Schema  string
	Scripts []migrate.Script
	// Name is the name of the store's outbox.
	Name string
	// Floors makes the floors of a table.
	Floors func() Floors
	// Inbox, Outbox and Pruner add the driver's own methods to these three.
	Inbox  func(*Inbox) inbox.Store
	Outbox func(*Outbox) store.Outbox
	Pruner func(*sqlops.Rounds) inbox.Pruner
}

// Tables are the tables of a store. A driver's Store embeds them: their methods are those
// of store.Store.
type Tables struct {
	inbox      inbox.Store
	backlog    backlog.Tables
	outbox     store.Outbox
	letters    dlq.Store
	operations store.Operations
}

func (t *Tables) Inbox() inbox.Store           { return t.inbox }
func (t *Tables) Backlog() backlog.Tables      { return t.backlog }
func (t *Tables) Outbox() store.Outbox         { return t.outbox }
func (t *Tables) Letters() dlq.Store           { return t.letters }
func (t *Tables) Operations() store.Operations { return t.operations }

// New returns a driver's tables with its statements.
func New(d sqlrun.Driver, q sqlfile.Set, o Options) Tables {
	in := sqlrun.Loaded(d, q, "inbox", &Inbox{})
	rows := sqlrun.Loaded(d, q, "backlog", &Backlog{schema: o.Schema, floors: o.Floors()})
	boxes := &lines{signal: outbox.NewSignal(), byName: make(map[string]store.Outbox)}
	boxes.make = func(name string, signal *outbox.Signal) store.Outbox {
		return o.Outbox(sqlrun.Loaded(d, q, "outbox", &Outbox{name: name, schema: o.Schema, floors: o.Floors(), signal: signal, lines: boxes}))
	}
	steps := sqlrun.Loaded(d, q, "steps", &sqlops.Steps{})
	return Tables{
		inbox: o.Inbox(in),
		backlog: backlog.Tables{
			Store:   rows,
			Counts:  rows,
			Order:   sqlrun.Loaded(d, q, "order", &Order{}),
			Leases:  sqlrun.Loaded(d, q, "leases", &Leases{}),
			Signals: backlog.NewSignals(),
		},
		outbox:  boxes.make(o.Name, boxes.signal),
		letters: sqlrun.Loaded(d, q, "letters", &Letters{Windows: sqlrun.Loaded(d, q, "letters", &sqlsearch.Windows{})}),
		operations: store.Operations{
			Versions:      sqlrun.Loaded(d, q, "versions", &Versions{}),
			Pruner:        o.Pruner(sqlrun.Loaded(d, q, "prune", &sqlops.Rounds{})),
			Finder:        in,
			Steps:         steps,
			StepAdmin:     steps,
			Suspect:       sqlrun.Loaded(d, q, "suspect", &sqlops.Suspect{}),
			Signals:       sqlrun.Loaded(d, q, "signals", &sqlops.Signals{}),
			Memos:         sqlrun.Loaded(d, q, "memos", &sqlops.Memos{}),
			Systems:       sqlrun.Loaded(d, q, "systems", &sqlops.Systems{}),
			Schedules:     sqlrun.Loaded(d, q, "schedules", &sqlops.Schedules{}),
			Answers:       sqlrun.Loaded(d, q, "answers", &sqlops.Answers{}),
			Groups:        sqlrun.Loaded(d, q, "groups", &sqlgroups.Groups{Schema: o.Schema}),
			Waiting:       sqlrun.Loaded(d, q, "waiting", &Waiting{}),
			Moves:         sqlrun.Loaded(d, q, "moves", &sqladmin.Moves{}),
			Corrections:   sqlrun.Loaded(d, q, "corrections", &sqladmin.Corrections{}),
			Imports:       sqlrun.Loaded(d, q, "imports", &sqladmin.Imports{}),
			Rehearsals:    sqlrun.Loaded(d, q, "rehearsals", &sqladmin.Rehearsals{}),
			Limits:        sqlrun.Loaded(d, q, "limits", &sqladmin.Limits{}),
			Instances:     sqlrun.Loaded(d, q, "instances", &sqlops.Instances{}),
			Marks:         sqlrun.Loaded(d, q, "marks", &sqlops.Marks{}),
			Pauses:        sqlrun.Loaded(d, q, "pauses", &sqlops.Pauses{}),
			Audit:         sqlrun.Loaded(d, q, "audit", &sqlrequests.Audit{}),
			Requests:      sqlrun.Loaded(d, q, "requests", &sqlrequests.Requests{}),
			Subscriptions: sqlrun.Loaded(d, q, "subscriptions", &sqlops.Subscriptions{Schema: o.Schema}),
			Relays:        sqlrun.Loaded(d, q, "relays", &sqlops.Relays{Schema: o.Schema}),
			Redrives:      sqljobs.New(d, q),
			Conditions:    sqlrun.Loaded(d, q, "conditions", &sqlconditions.Conditions{Schema: o.Schema}),
			Schema:        sqlrun.Loaded(d, q, "meta", &sqlops.Schema{Name: o.Schema, Scripts: o.Scripts}),
		},
	}
}

// warning begins what a rule says whose violation is a Warning.
const warning = "Warning: "

// Check runs the rules on what q sees.
func Check(ctx context.Context, q sqlrun.Reader, rules map[string]string) (report store.Report, err error) {
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		r := store.RuleResult{Name: name, Says: sqlfile.Says(rules[name])}
		if err := q.QueryRowContext(ctx, rules[name]).Scan(&r.Violations, &r.Example); err != nil {
			return store.Report{}, fmt.Errorf("check %s: %w", name, err)
		}
		if says, ok := strings.CutPrefix(r.Says, warning); ok {
			r.Says = says
			report.Warnings = append(report.Warnings, r)
			continue
		}
		report.Rules = append(report.Rules, r)
	}
	return report, nil
}
