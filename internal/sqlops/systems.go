package sqlops

import (
	"cmp"
	"context"
	"fmt"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/ledger"
)

// Systems implements ledger.Systems.
type Systems struct {
	sqlrun.Table[struct {
		Pause, Known, Resume, List string
		Record                     string `sql:"audit_record"`
	}]
}

func (s *Systems) Pause(ctx context.Context, p ledger.SystemPause) (changed bool, err error) {
	defer sqlrun.Wrap("pause a system", &err)
	if err := cmp.Or(ledger.CheckSystem(p.System), sqlrun.Identity(p.System)); err != nil {
		return false, err
	}
	if p.Left <= 0 || p.Left > ledger.MaxPause {
		return false, fmt.Errorf("a pause of %s is not between 0 and %s", p.Left, ledger.MaxPause)
	}
	by, reason := encode.Text(p.By, sqlrun.MaxName), encode.Text(p.Reason, sqlrun.MaxError)
	args := []any{p.System, sqlrun.Micros(p.Left), by, reason}
	if p.By == "" { // an answer 429
		n, err := s.Write(ctx, s.SQL.Pause, args...)
		return n > 0, err
	}
	return s.WriteRecorded(ctx, s.SQL.Pause, args, s.SQL.Record, audit.System, p.System, "pause", by, reason, 0, "for "+p.Left.String())
}

func (s *Systems) Known(ctx context.Context, system string) (known bool, err error) {
	defer sqlrun.Wrap("look for a system", &err)
	if !encode.Clean(system) {
		return false, nil // no row has such a name
	}
	err = s.Reader().QueryRowContext(ctx, s.SQL.Known, system).Scan(&known)
	return known, err
}

func (s *Systems) Resume(ctx context.Context, system, by string) (was bool, err error) {
	defer sqlrun.Wrap("resume a system", &err)
	if !encode.Clean(system) {
		return false, nil // no row has such a name
	}
	by = encode.Text(by, sqlrun.MaxName)
	return s.WriteRecorded(ctx, s.SQL.Resume, []any{system, by}, s.SQL.Record, audit.System, system, "resume", by, "", 0, "")
}

func (s *Systems) List(ctx context.Context) (list []ledger.SystemPause, err error) {
	defer sqlrun.Wrap("list the pauses of systems", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.List, nil, func(p *ledger.SystemPause) []any {
		return []any{&p.System, (*sqlrun.Span)(&p.Left), (*sqlrun.Instant)(&p.Until), &p.By, &p.Reason, (*sqlrun.Instant)(&p.Changed)}
	})
}
