package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// askFor reads ids like readIDs, but first returns an error if the command could not
// confirm later. It checks the arguments first and reads stdin last, since a person may
// type there.
func (m *Main) askFor(args []string, yes bool) ([]int64, error) {
	if err := checkIDs(args); err != nil {
		return nil, err
	}
	if err := m.mayAsk(yes, slices.Contains(args, "-")); err != nil {
		return nil, err
	}
	return m.readIDs(args)
}

// listed names ids for a question: the first ones, and how many more there are.
func listed(ids []int64) string {
	const most = 5
	words := make([]string, 0, most)
	for _, id := range ids[:min(most, len(ids))] {
		words = append(words, strconv.FormatInt(id, 10))
	}
	if more := len(ids) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(words, ", "), more)
	}
	return strings.Join(words, ", ")
}

// checkIDs returns an error for arguments that are neither ids nor "-".
func checkIDs(args []string) error {
	for _, arg := range args {
		if _, ok := parseID(arg); !ok && arg != "-" {
			return notID(arg)
		}
	}
	return nil
}

// readIDs reads ids from arguments, or from stdin if the only one is "-". It returns them
// sorted, each once; nil if there are no arguments.
func (m *Main) readIDs(args []string) ([]int64, error) {
	if len(args) == 0 {
		return nil, nil
	}
	var ids []int64
	if slices.Contains(args, "-") {
		if len(args) > 1 {
			return nil, usagef("ids come from the command line or with - from stdin, not from both")
		}
		var err error
		if ids, err = parseLines(m.Stdin); err != nil {
			return nil, err
		}
	}
	for _, arg := range args {
		if arg == "-" {
			continue
		}
		id, ok := parseID(arg)
		if !ok {
			return nil, notID(arg)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// parseLines parses one id a line, and skips empty lines.
func parseLines(r io.Reader) ([]int64, error) {
	var ids []int64
	lines := bufio.NewScanner(r)
	n := 0
	for lines.Scan() {
		n++
		word := strings.TrimSpace(lines.Text())
		if word == "" {
			continue
		}
		id, ok := parseID(word)
		if !ok {
			return nil, usagef("stdin, line %d: %q is no id", n, short(word, 40))
		}
		ids = append(ids, id)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, usagef("stdin, line %d: too long for an id", n+1)
	case err != nil:
		return nil, fmt.Errorf("read ids from stdin: %w", err)
	case len(ids) == 0:
		return nil, usagef("stdin holds no ids")
	}
	return ids, nil
}

func notID(s string) error { return usagef("%q is no id: an id is a number", short(s, 40)) }

func parseID(s string) (int64, bool) {
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil && id > 0
}
