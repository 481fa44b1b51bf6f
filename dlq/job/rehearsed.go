package job

import (
	"fmt"
	"strings"

	"github.com/headrace/headrace/audit"
)

// The actions of a rehearsal of a group in the audit.
const (
	Rehearsed        = "rehearse"       // all letters would pass
	RehearsedNotPass = "rehearse-fails" // not all would
)

// RehearsalRow is what the audit keeps of the rehearsal of a group, of which pass of all letters would pass on build.
// Its Detail is the owner, which Redrive.Rehearsed compares.
func RehearsalRow(consumer, handler, fingerprint, build string, pass, all int) audit.Row {
	action := Rehearsed
	if pass < all {
		action = RehearsedNotPass
	}
	return audit.Row{
		Kind: audit.Group, Subject: fingerprint, Action: action, Detail: consumer + "/" + handler,
		Reason: fmt.Sprintf("%d of %d rehearsed letters would pass", pass, all) + on(build),
	}
}

// Rehearsed reports whether row is of a rehearsal of the group that r redrives: all its letters are of one handler
// and one error fingerprint.
func (r *Redrive) Rehearsed(row audit.Row) bool {
	handler := r.Handler
	for _, s := range r.Survey {
		if handler != "" && s.Handler != handler {
			return false
		}
		handler = s.Handler
	}
	return row.Detail == r.Consumer+"/"+handler && row.Subject == r.ErrorFingerprint && (row.Action == Rehearsed || row.Action == RehearsedNotPass)
}

// RehearsedOn reports whether row, of a rehearsal, is of a process of build.
func RehearsedOn(row audit.Row, build string) bool { return strings.HasSuffix(row.Reason, on(build)) }

func on(build string) string { return " on " + NameBuilds([]string{build}) }
