package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq/export"
)

// importFlags say how to import a file.
type importFlags struct {
	order export.Order
	yes   bool
}

func (m *Main) importCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "import FILE --reason WHY", Short: "bring exported dead letters into this database", Args: one("FILE"),
		Long: `Imports the open letters of an unredacted export into another database of the same consumer. Letters whose
message its inbox knows already are skipped and counted. A redrive then applies the messages in this
database, so discard the letters in the other one. The whole file is checked first, and a file that was
cut or changed is refused. To continue after an interruption, import the file again: nothing is imported twice.

It needs an admin's login. Exit status 3 if letters were skipped, 5 if the file is refused.`,
		Example: "  headrace dlq import letters.ndjson --reason 'move to eu-2'",
	}
	var f importFlags
	yesFlag(c, &f.yes)
	m.writes(c)
	c.Flags().StringVar(&f.order.By, "by", "", "who imports them, for the audit trail (default: your user name)")
	c.Flags().StringVar(&f.order.Reason, "reason", "", "why, for the audit trail")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		if strings.TrimSpace(f.order.Reason) == "" && !m.dryRun {
			return usagef("import: say why with --reason")
		}
		f.order.By = operator(f.order.By)
		if err := m.mayAsk(f.yes, false); err != nil {
			return err
		}
		file, err := regularFile(args[0])
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it was only read
		return m.withStore(ctx, func(st openStore) error { return m.importFile(ctx, st, &f, file) })
	})
	return c
}

// regularFile opens a file that can be read twice.
func regularFile(name string) (*os.File, error) {
	info, err := os.Stat(name) // before it is opened: a pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, usagef("import: %s is no file: it is read twice", short(name, 80))
	}
	return os.Open(name)
}

// importView is an import as JSON.
type importView struct {
	DryRun bool `json:"dry_run,omitempty"`
	// Database and Environment are those of the file.
	Database    string       `json:"database"`
	Environment string       `json:"environment,omitempty"`
	Consumer    string       `json:"consumer"`
	Imported    int          `json:"imported"` // or would be
	PassedOver  int          `json:"passed_over"`
	Reasons     []export.Why `json:"reasons"`
}

func (m *Main) importFile(ctx context.Context, st openStore, f *importFlags, file *os.File) error {
	_, knows, err := schemaOf(ctx, st)
	if err != nil {
		return err
	}
	s, err := export.Look(ctx, st, knows, file)
	if err != nil {
		return err
	}
	if m.dryRun {
		return m.printImport(s, export.Result{Imported: s.New, Over: s.Over})
	}
	if err := export.May(ctx, st); err != nil {
		return err
	}
	var r export.Result
	if s.New == 0 {
		r.Over = s.Over
	} else {
		if err := m.confirmImport(f, s); err != nil {
			return err
		}
		if r, err = m.importAll(ctx, st, f, s, file); err != nil {
			return err
		}
	}
	return m.printImport(s, r)
}

// confirmImport says what an import means, and asks.
func (m *Main) confirmImport(f *importFlags, s export.Survey) error {
	m.say("%s of consumer %s, exported by %s at %s from database %s", plural(s.Count, "letter", "letters"), s.Consumer, s.By, when(s.At), s.Database)
	m.say("this database has never seen %s, or has forgotten them: a redrive applies them here", plural(s.New, "key", "keys"))
	for _, why := range s.Over {
		m.say("passed over: %d, %s", why.Count, why.Why)
	}
	if s.New <= manyLetters || f.yes {
		return m.confirm(f.yes, "import %s of %s?", plural(s.New, "letter", "letters"), s.Consumer)
	}
	return m.confirmName(s.Consumer, func(answer string) bool { return answer == s.Consumer }, "import %d letters of %s?", s.New, s.Consumer)
}

func (m *Main) importAll(ctx context.Context, st openStore, f *importFlags, s export.Survey, file *os.File) (export.Result, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return export.Result{}, err
	}
	work, stop := m.Interruptible(ctx)
	defer stop()
	bar := m.progress("imported", int64(s.New))
	f.order.Progress = bar.step
	r, err := export.Import(work, st, s, f.order, file)
	bar.end()
	switch done := plural(r.Imported, "letter", "letters"); {
	case err != nil && work.Err() != nil:
		err = fmt.Errorf("%w after %s; the same command goes on with the rest", errInterrupted, done)
	case err != nil && r.Imported > 0:
		m.say("after %s: %v", done, err)
		m.say("the same command goes on with the rest")
		err = errIncomplete
	}
	return r, err
}

func (m *Main) printImport(s export.Survey, r export.Result) error {
	v := importView{DryRun: m.dryRun, Database: s.Database, Environment: s.Environment, Consumer: s.Consumer, Imported: r.Imported, Reasons: r.Over}
	did := "imported"
	if m.dryRun {
		did = "would be imported"
	}
	var rows [][]string
	for _, why := range r.Over {
		v.PassedOver += why.Count
		rows = append(rows, []string{fmt.Sprintf("  %d passed over: %s", why.Count, why.Why)})
	}
	rows = append([][]string{{plural(r.Imported, "letter", "letters") + " " + did}}, rows...)
	if err := m.emit("", v, nil, rows); err != nil {
		return err
	}
	if m.dryRun {
		return errDryRun
	}
	if r.Imported > 0 {
		m.next("dlq groups --consumer %s", s.Consumer)
	}
	if v.PassedOver > 0 {
		return errIncomplete
	}
	return nil
}
