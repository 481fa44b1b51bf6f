package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq/export"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/store/txn"
)

// exportFlags say what to export, and how.
type exportFlags struct {
	chosen     decideFlags
	file       string
	unredacted bool
}

func (m *Main) exportCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "export [ID... | - | GROUP]", Short: "write dead letters of a consumer to a file",
		Long: `Writes letters with all that is recorded about them as lines of JSON: a header, one letter per line, and a
last line with their number and a SHA-256. Payloads and headers are redacted. --unredacted writes them
as they came: only such a file can be imported. It needs an admin's login and is recorded in the audit
trail. The letters do not change. With --file, FILE is written whole or not at all.

Exit status 1 if there is no such letter, 3 if some of the ids are not open.`,
		Example: "  headrace dlq export 3f2a --file letters.ndjson\n  headrace dlq export --consumer billing --unredacted --reason 'move to eu-2' | gzip > letters.gz",
	}
	e := exportFlags{chosen: decideFlags{filter: addFilter(c), yes: true}}
	e.chosen.filter.addState()
	addLetter(c, &e.chosen.letter)
	c.Flags().BoolVar(&e.chosen.all, "all", false, "every letter")
	c.Flags().StringVar(&e.file, "file", "", "the `file` to write (default: stdout)")
	c.Flags().BoolVar(&e.unredacted, "unredacted", false, "redact nothing")
	c.Flags().StringVar(&e.chosen.by, "by", "", "who exports them (default: your user name)")
	c.Flags().StringVar(&e.chosen.reason, "reason", "", "why, for the audit trail")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		r, err := m.exportRequest(&e, args)
		if err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error {
			if err := settleNamed(ctx, st, args, &r.Filter); err != nil {
				return err
			}
			return m.export(ctx, st, &e, r)
		})
	})
	return c
}

func (m *Main) exportRequest(e *exportFlags, args []string) (r export.Request, err error) {
	if r.Filter, err = m.choose(&e.chosen, args, "export"); err != nil {
		return r, err
	}
	switch {
	case e.unredacted && strings.TrimSpace(e.chosen.reason) == "":
		return r, usagef("export: say why with --reason")
	case e.file == "" && m.Terminal(m.Stdout):
		return r, usagef("export: it is for programs: give --file, or send stdout elsewhere")
	}
	r.By, r.Reason = e.chosen.by, e.chosen.reason
	r.Rules = m.eyes(&content{reveal: e.unredacted}).rules
	return r, nil
}

// exportView is an export into a file, as JSON.
type exportView struct {
	File     string `json:"file"`
	Redacted bool   `json:"redacted"`
	export.End
}

func (m *Main) export(ctx context.Context, st openStore, e *exportFlags, r export.Request) error {
	schema, _, err := schemaOf(ctx, st)
	if err != nil {
		return err
	}
	work, stop := m.Interruptible(ctx)
	defer stop()
	bar := m.progress("exported", 0)
	r.Progress = bar.step
	var end export.End
	write := func(w io.Writer) (err error) {
		end, err = export.Export(work, st, schema, r, w)
		return err
	}
	if e.file == "" {
		err = write(m.out)
	} else {
		err = intoFile(e.file, func(w io.Writer) (bool, error) { err := write(w); return end.Count > 0, err })
	}
	bar.end()
	switch {
	case err != nil && work.Err() != nil:
		return fmt.Errorf("%w: the export is not whole", errInterrupted)
	case errors.Is(err, export.ErrConsumers):
		return usagef("export: %v: use --consumer", err)
	case e.unredacted && txn.NotPermitted(err):
		return &roleError{"admin", err}
	case err != nil:
		return err
	case end.Count == 0:
		return m.nothing(ctx, st, r.Filter, "no letter matches")
	}
	if e.file != "" {
		says := [][]string{{fmt.Sprintf("%s exported to %s", plural(end.Count, "letter", "letters"), e.file)}}
		if err := m.emit("", exportView{e.file, !e.unredacted, end}, nil, says); err != nil {
			return err
		}
	}
	switch {
	case e.unredacted && e.file != "":
		m.next("dlq import %s --reason WHY", migrate.Quote(e.file))
		m.say("with the DSN of the database to import it to")
	case r.Filter.ErrorFingerprint != "":
		id := groups.ID{Consumer: r.Filter.Consumer, Handler: r.Filter.Handler, ErrorFingerprint: r.Filter.ErrorFingerprint}
		if err := m.nextOf(ctx, st, "dlq why", id); err != nil {
			return err
		}
	default:
		m.next("dlq groups")
	}
	if missing := len(r.Filter.IDs) - end.Count; missing > 0 {
		m.say("%s: there is no such letter, or its state is another one (--state any)", plural(missing, "id is left out", "ids are left out"))
		return errIncomplete
	}
	return nil
}

// schemaOf returns how many migrations the database has, and how many this headrace knows.
func schemaOf(ctx context.Context, st openStore) (has, knows int, err error) {
	list, err := st.Migrations(ctx)
	for _, one := range list {
		if knows = max(knows, one.Version); one.Applied {
			has = max(has, one.Version)
		}
	}
	return has, knows, err
}

// intoFile has write fill a new file, which gets its name when it is whole. It is not kept unless write
// says so.
func intoFile(name string, write func(io.Writer) (keep bool, err error)) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.part")
	if err != nil {
		return err
	}
	kept := false
	defer func() {
		if !kept {
			_ = f.Close() // a second time, if it is closed
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	out := bufio.NewWriterSize(f, 64<<10)
	keep, err := write(out)
	if err != nil || !keep {
		return err
	}
	if err := errors.Join(out.Flush(), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", f.Name(), err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	kept = true
	return nil
}
