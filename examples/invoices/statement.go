package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
)

// statement looks at the log of a step's system, when nothing can come any more.
func (o *options) statement(row ledger.Row) (id string, result []byte, certain bool, err error) {
	if row.Idle < 2*(timeout+findAfter) {
		return "", nil, false, nil
	}
	number, err := orderOf(row.ID)
	if err != nil {
		return "", nil, false, err
	}
	entries, err := readLog(o.log())
	if err != nil {
		return "", nil, false, err
	}
	for _, e := range entries {
		if e.System == row.System && e.Order == number && things[row.Step] == e.What {
			id = e.ID
		}
	}
	if id != "" {
		result, err = json.Marshal(made{ID: id})
	}
	return id, result, true, err
}

// orderOf is the number of the order of a message.
func orderOf(id inbox.ID) (number int, err error) {
	if _, err := fmt.Sscanf(id.Key, "order:%d", &number); err != nil {
		return 0, fmt.Errorf("the key %q: %w", id.Key, err)
	}
	return number, nil
}

// readLog reads the log of the systems.
func readLog(file string) (entries []entry, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // also before the end of a line that is being written
			return entries, nil
		}
		var e entry
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err != nil {
			return nil, fmt.Errorf("read the systems' log: %w", err)
		}
		entries = append(entries, e)
	}
}
