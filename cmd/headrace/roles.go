package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headrace/headrace/store"
)

// roles are those of headrace migrate grants that each command works with, the one with the
// fewest rights; owner is the login that owns the tables, and "" is any.
var roles = map[string]string{
	"alert ls": "viewer", "audit ls": "viewer", "consumer ls": "viewer", "dlq groups": "viewer", "dlq ls": "viewer", "dlq show": "viewer", "dlq why": "viewer", "redrive letters": "viewer", "redrive ls": "viewer", "redrive show": "viewer", "redrive watch": "viewer",
	"backlog groups": "viewer", "inbox missing": "viewer", "migrate status": "viewer", "outbox status": "viewer",
	"schedule ls": "viewer", "status": "viewer", "subscription ls": "viewer", "system ls": "viewer",

	"backlog ls": "operator", "check": "operator", "inbox show": "operator", "backlog show": "operator", "consumer pause": "operator",
	"redrive apply": "operator", "redrive cancel": "operator", "redrive pause": "operator", "redrive plan": "operator", "redrive resume": "operator",
	"consumer resume": "operator", "intent show": "operator",
	"outbox parked": "operator", "outbox unpark": "operator", "schedule fire": "operator", "steps find": "operator", "steps ls": "operator",
	"system pause": "operator", "system resume": "operator",

	"dlq edit": "admin", "dlq import": "admin", "migrate new-id": "admin", "outbox local": "admin", "prune": "consumer", "steps erase": "admin",
	"steps resolve": "admin", "steps send": "admin", "subscription move": "admin", "subscription remove": "admin", "suspect begin": "admin", "suspect end": "admin",

	"backlog cancel": "admin", "alert test": "operator", "backlog retry": "operator", "dlq rehearse": "operator",
	"dlq mute": "operator", "dlq discard": "operator", "dlq export": "operator", "dlq redrive": "operator", "dlq note": "operator", "dlq resolve": "operator", "dlq restore": "operator", "dlq unmute": "operator", "ui": "operator",

	"migrate up": "owner", "migrate grants": "", "migrate print": "", "version": "",
}

// flagRoles are those that a command needs with a flag, if they have more rights than its own.
var flagRoles = map[string]string{
	"direct": "admin", "new-key": "admin", "repair": "admin",
	"shared": "operator", "text": "operator", "where": "operator", "header": "operator", "payload": "operator", "reveal": "operator",
}

// roleOf is the role of a command with its flags.
func roleOf(c *cobra.Command) string {
	role := roles[pathOf(c)]
	c.Flags().Visit(func(f *pflag.Flag) {
		if more := flagRoles[f.Name]; more == "admin" || more != "" && role == "viewer" {
			role = more
		}
	})
	return role
}

// errRights is what the server would answer to a login that may not do what a dry run tries.
type errRights struct{}

func (errRights) Error() string    { return "this login may not do it" }
func (errRights) SQLState() string { return "42501" }

// mayTry refuses a dry run to a login without the rights of the deed: it writes nothing by which the server
// would refuse it. It also refuses what only a consumer may do: an admin may do the first half of it.
func (m *Main) mayTry(ctx context.Context, st openStore) error {
	database, ok := st.Store.(interface {
		May(ctx context.Context, role string) (bool, error)
	})
	if !ok || !m.dryRun && m.role != "consumer" || m.role == "" || m.role == "owner" { // whose tables may be missing
		return nil
	}
	if may, err := database.May(ctx, m.role); err != nil || may {
		return err
	}
	return &roleError{m.role, errRights{}}
}

// roleError is the error of a part of a command that needs another role.
type roleError struct {
	role string
	err  error
}

func (e *roleError) Error() string { return e.err.Error() }
func (e *roleError) Unwrap() error { return e.err }

// needs says which role an error about rights is for: that of the command, if the error names no other. Roles are
// PostgreSQL's.
func needs(err error, role string) string {
	type ofServer interface {
		error
		SQLState() string
	}
	if _, ok := errors.AsType[ofServer](err); !ok {
		if errors.Is(err, fs.ErrPermission) {
			return ""
		}
		return "; this user may not write the database's file or its folder"
	}
	if other, ok := errors.AsType[*roleError](err); ok {
		role = other.role
	}
	switch role {
	case "":
		return ""
	case "owner":
		return "; it needs the login that owns the tables"
	}
	return "; it needs the role " + role + " of `headrace migrate grants`"
}

func (m *Main) grantsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "grants", Short: "print the SQL of five roles: publisher, consumer, operator, admin, viewer", Args: noArgs,
		Long: `Prints the SQL that creates five roles and gives each its rights on the tables. It does not run the SQL.
Grant the roles to logins: publisher to programs that only publish events, consumer to those that run
consumers, and operator, admin and viewer to people. A viewer sees no payloads and no headers.
PostgreSQL only: a SQLite database has the rights of its file.`,
		Example: "  headrace migrate grants --role-prefix shop | psql",
	}
	prefix := c.Flags().String("role-prefix", "headrace", "what the names of the roles begin with")
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		return m.withMigrator(ctx, false, func(mg store.Migrator) error {
			database, ok := mg.(openStore).Store.(interface {
				Grants(prefix string) (string, error)
			})
			if !ok {
				return usagef("SQLite has no roles, but the rights of the file")
			}
			sql, err := database.Grants(*prefix)
			if err != nil {
				return usagef("%v", err)
			}
			if m.json() {
				return m.emitJSON("", map[string]string{"sql": sql})
			}
			// The SQL is our own: it is printed unescaped, to be piped into psql.
			_, err = fmt.Fprint(m.out, sql)
			return err
		})
	})
	return c
}
