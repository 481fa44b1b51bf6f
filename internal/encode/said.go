package encode

import (
	"fmt"
	"strings"
)

// maxSaid bounds what is logged of an error.
const maxSaid = 1 << 10

// states are the SQLState classes whose messages are about the server and the schema:
// connections, rights, names, locks, resources. Those of all others may quote values
// (22, 23), or are the words of somebody's trigger (P0).
var states = map[string]bool{
	"08": true, "0A": true, "25": true, "26": true, "28": true, "3D": true, "3F": true, "40": true,
	"42": true, "53": true, "54": true, "55": true, "57": true, "58": true, "XX": true,
}

// server is an error of a PostgreSQL driver.
type server interface {
	error
	SQLState() string
}

// Said returns what may be logged of an error of our own statements: all of it but the
// messages of the server that may quote values, of which the type and the SQLState are
// left. The drivers' texts have no Detail and no DSN. It is not for the errors of
// handlers, sinks and hooks, whose every word may be payload.
func Said(err error) (text string) {
	if err == nil {
		return ""
	}
	defer func() {
		if recover() != nil { // a method of what it wraps
			text = fmt.Sprintf("%T", err)
		}
	}()
	text = err.Error()
	for _, e := range servers(err) {
		state, words := e.SQLState(), e.Error()
		if words != "" && (len(state) != 5 || !states[state[:2]]) {
			text = strings.ReplaceAll(text, words, fmt.Sprintf("%T (SQLSTATE %s, its words are not shown)", e, state))
		}
	}
	return Text(text, maxSaid)
}

// servers returns the errors of the server that err wraps.
func servers(err error) []server {
	var list []server
	if e, ok := err.(server); ok {
		list = append(list, e)
	}
	var inner []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		inner = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		inner = e.Unwrap()
	}
	for _, e := range inner {
		if e != nil {
			list = append(list, servers(e)...)
		}
	}
	return list
}
