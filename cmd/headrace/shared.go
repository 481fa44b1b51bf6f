package main

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/inspect"
)

// sharedOf reads what the letters of a group share, with secrets redacted.
func (m *Main) sharedOf(ctx context.Context, st openStore, g groups.Group) (*inspect.Shared, error) {
	e := m.eyes(&content{payload: true})
	s, err := inspect.ReadShared(ctx, st, g, func(payload []byte, headers map[string]string) ([]byte, map[string]string) {
		return e.payload(payload), e.headers(headers)
	})
	return &s, err
}

// sharedRows says what letters share; nil is nothing.
func sharedRows(s *inspect.Shared) (rows [][]string) {
	if s == nil {
		return nil
	}
	title := "SHARED"
	for _, t := range s.Traits {
		rows, title = append(rows, []string{title, fmt.Sprintf("%d %% of %d here, %d %% of %d others: %s %s",
			inspect.Percent(t.In, s.In), s.In, inspect.Percent(t.Out, s.Out), s.Out, short(text(t.Where), 60), short(text(t.Value), 60))}), ""
	}
	if len(rows) == 0 {
		rows = [][]string{{title, fmt.Sprintf("nothing that tells the %d letters read from %d others of the handler", s.In, s.Out)}}
	}
	return rows
}
