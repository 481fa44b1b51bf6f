package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Unread returns an error if v, which was read from b, has lost what b says.
func Unread(b []byte, v any) error {
	again, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var was, now any
	if err := errors.Join(json.Unmarshal(b, &was), json.Unmarshal(again, &now)); err != nil {
		return err
	}
	return renamed(was, now)
}

// renamed returns an error if an object of was has a member that now does not have, and the
// other way round, or if now has none of its members.
func renamed(was, now any) error {
	switch was := was.(type) {
	case []any:
		now, _ := now.([]any)
		for i := range min(len(was), len(now)) {
			if err := renamed(was[i], now[i]); err != nil {
				return err
			}
		}
	case map[string]any:
		now, ok := now.(map[string]any)
		if !ok {
			return nil // the type has a form of its own
		}
		lost, added := missing(was, now), missing(now, was)
		switch {
		case lost == nil:
		case added != nil:
			return fmt.Errorf("it has the field %q, which is unknown, and not %q, as after a rename", lost[0], added[0])
		case len(lost) == len(was):
			return fmt.Errorf("all its fields are unknown, as %q", lost[0])
		}
		for name, value := range was {
			if err := renamed(value, now[like(now, name)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing are the members of a that b does not have, in order.
func missing(a, b map[string]any) (names []string) {
	for name := range a {
		if _, ok := b[like(b, name)]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// like is the name that a member has in m, where json reads it in any case.
func like(m map[string]any, name string) string {
	if _, ok := m[name]; ok {
		return name
	}
	for other := range m {
		if strings.EqualFold(other, name) {
			return other
		}
	}
	return name
}
