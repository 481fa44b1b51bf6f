package encode

import (
	"fmt"
	"strings"
)

// maxSaid bounds the logged text of an error.
const maxSaid = 1 << 10

// states are the SQLState classes whose messages are about the server and the schema:
// connections, rights, names, locks, resources. Messages of other classes may quote
// values (22, 23), or come from a user's trigger (P0).
var states = map[string]bool{
	"08": true, "0A": true, "25": true, "26": true, "28": true, "3D": true, "3F": true, "40": true,
	"42": true, "53": true, "54": true, "55": true, "57": true, "58": true, "XX": true,
}

// server is an error of a PostgreSQL driver.
type server interface {
	error
	SQLState() string
}

// Said returns the text of an error of our own statements for logs. It replaces server
// messages that may quote values by their type and SQLState. The drivers' texts contain
// no Detail and no DSN. It is not for errors of handlers, sinks and hooks, whose whole
// text may be payload.
func Said(err error) (text string) {
	if err == nil {
		return ""
	}
	defer func() {
		if recover() != nil { // a method of a wrapped error panicked
			text = fmt.Sprintf("%T", err)
		}
	}()
	text = err.Error()
	chain, whole := Chain(err, maxSaid)
	if !whole { // a text that is not found cannot be replaced
		return fmt.Sprintf("%T", err)
	}
	for _, err := range chain {
		e, ok := err.(server)
		if !ok {
			continue
		}
		state, words := e.SQLState(), e.Error()
		if words != "" && (len(state) != 5 || !states[state[:2]]) {
			text = strings.ReplaceAll(text, words, fmt.Sprintf("%T (SQLSTATE %s, message not shown)", e, state))
		}
	}
	return Text(text, maxSaid)
}

// Chain lists err and the errors that it wraps, depth first, at most limit: an error may
// wrap itself. whole is false if there are more, or if an Unwrap method panicked.
func Chain(err error, limit int) (list []error, whole bool) {
	whole = true
	var walk func(error)
	walk = func(err error) {
		if err == nil {
			return
		}
		if len(list) == limit {
			whole = false
			return
		}
		list = append(list, err)
		inner, ok := wrapped(err)
		whole = whole && ok
		for _, err := range inner {
			walk(err)
		}
	}
	walk(err)
	return list, whole
}

// wrapped returns the errors that err wraps directly; false if Unwrap panics, as methods
// of nil pointers do.
func wrapped(err error) (inner []error, ok bool) {
	defer func() {
		if recover() != nil {
			inner, ok = nil, false
		}
	}()
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return []error{e.Unwrap()}, true
	case interface{ Unwrap() []error }:
		return e.Unwrap(), true
	}
	return nil, true
}

// Code returns the code that err itself has: an SQLState, or the result of a Code or
// ErrorCode method, as clients of SQLite, clouds and RPC have; "" if there is none.
func Code(err error) string {
	switch e := err.(type) {
	case interface{ SQLState() string }:
		return e.SQLState()
	case interface{ ErrorCode() string }:
		return e.ErrorCode()
	case interface{ Code() string }:
		return e.Code()
	case interface{ Code() int }:
		return fmt.Sprint(e.Code())
	}
	return ""
}
