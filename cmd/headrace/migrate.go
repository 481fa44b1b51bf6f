package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/store"
)

func (m *Main) migrateCommand() *cobra.Command {
	command := func(name, short string, f func(context.Context, store.Migrator) error) *cobra.Command {
		return &cobra.Command{
			Use: name, Short: short, Args: noArgs,
			RunE: m.do(func(ctx context.Context, _ []string) error {
				return m.withMigrator(ctx, name == "up" && !m.dryRun, func(mg store.Migrator) error { return f(ctx, mg) })
			}),
		}
	}
	status := command("status", "list the migrations and whether each was applied", m.migrateStatus)
	status.Long = `Lists the migrations of this build and whether each was applied. It changes nothing.

Exit status: 0 none is missing, 1 one is missing, or it failed, 2 wrong usage.`
	up := m.writes(command("up", "apply the migrations that are missing", m.migrateUp))
	return m.parent("migrate", "make or change the tables",
		up, status,
		command("print", "print the SQL of all migrations", m.migratePrint), m.grantsCommand(), m.newIDCommand())
}

func (m *Main) migrateUp(ctx context.Context, mg store.Migrator) error {
	if m.dryRun {
		return m.wouldMigrate(ctx, mg)
	}
	applied, failed := mg.Migrate(ctx)
	// Migrations applied before a failure stay, so they are printed first.
	if err := m.emitMigrations(applied); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if len(applied) == 0 && !m.json() {
		return m.line("nothing to apply")
	}
	m.next("status")
	return nil
}

// wouldMigrate is would for the migrations that are missing.
func (m *Main) wouldMigrate(ctx context.Context, mg store.Migrator) error {
	all, err := mg.Migrations(ctx)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(all, func(one store.Migration) bool { return one.Applied })
	says := "apply " + plural(len(missing), "migration", "migrations")
	for _, one := range missing {
		says += fmt.Sprintf(", %04d %s", one.Version, one.Name)
	}
	return m.would(int64(len(missing)), "%s", says)
}

func (m *Main) migrateStatus(ctx context.Context, mg store.Migrator) error {
	all, failed := mg.Migrations(ctx)
	if err := m.emitMigrations(all); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	missing := 0
	for _, one := range all {
		if !one.Applied {
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	m.say("%s missing", plural(missing, "migration is", "migrations are"))
	m.next("migrate up")
	return errFound
}

func (m *Main) emitMigrations(list []store.Migration) error {
	var rows [][]string
	for _, one := range list {
		state := "missing"
		if one.Applied {
			state = "applied"
		}
		rows = append(rows, []string{fmt.Sprintf("%04d", one.Version), one.Name, state})
	}
	if m.json() {
		return m.emitJSON("migrations", list)
	}
	if len(rows) == 0 {
		return nil
	}
	return m.table([]string{"VERSION", "NAME", "STATE"}, rows)
}

type scriptView struct {
	Version int    `json:"version"`
	Name    string `json:"name"`
	SQL     string `json:"sql"`
}

func (m *Main) migratePrint(ctx context.Context, mg store.Migrator) error {
	all, err := mg.Migrations(ctx)
	if err != nil {
		return err
	}
	views := make([]scriptView, 0, len(all))
	for _, one := range all {
		views = append(views, scriptView{Version: one.Version, Name: one.Name, SQL: one.SQL})
	}
	if m.json() {
		return m.emitJSON("migrations", views)
	}
	for _, v := range views {
		// The SQL is our own: it is printed unescaped, to be piped into psql or sqlite3.
		if _, err := fmt.Fprintf(m.out, "-- %04d %s\n%s\n", v.Version, v.Name, v.SQL); err != nil {
			return err
		}
	}
	return nil
}

// number writes an id.
func number(n int64) string { return strconv.FormatInt(n, 10) }
