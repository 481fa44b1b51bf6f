package steps

import (
	"time"

	"github.com/headrace/headrace/ledger"
)

// action is what to do with a step before a call.
type action int

const (
	call action = iota
	give        // return what is recorded
	find
	skip
	park     // record that a person must decide
	stop     // a person must decide, as is recorded
	mismatch // it is done with another input
)

// The reasons for a person, as people read them, and what a person can do. They name nothing of the message;
// %v is the status of an answer.
const (
	whyUnknown  = "the outcome of a call is unknown"
	whyLost     = "a call may have been made whose record is lost: suspect mode is on"
	whyWindow   = "the outcome of a call is unknown, and the system may have forgotten its key"
	whyInput    = "the outcome of a call is unknown, and the step has another input now"
	whySystem   = "the outcome of a call is unknown, and the step calls another system now"
	whyStatus   = "the system refused a repetition (%v), and the outcome of an earlier call is unknown"
	whyRepeated = "the system refused the key that a person had it called with again (%v): the earlier call may have been carried out after all"
	whyExists   = "the system says that it exists, and the step has no Find"
	whyNotFound = "the system says that it exists, and Find does not find it"
	whyNoResult = "it is done, but its result could not be kept: give it with headrace steps resolve --done --result FILE"
	whyNotGiven = "a person said that it is done, and gave no result: give it with headrace steps resolve --done --result FILE"
	whyOther    = "it was called under two of its names, and the outcome of the call under this one is unknown: if both were carried out undo one, and then, or if this one was not: headrace steps resolve SCOPE KEY STEP --again, which does not call it under this name while the other one has it"
	whySignal   = "a signal of its name is recorded: give the step another name"
	ifItCounts  = "if it counts for this one too: headrace steps resolve SCOPE KEY STEP --done --force, and --result FILE for another result"
)

// decision is an action with its reason for a person.
type decision struct {
	action action
	why    string
}

// next decides what to do with the step of r. was is its row, nil if there is none; age is
// how long ago the first call of its generation began.
func next(r *ledger.Request, was *ledger.Row, age time.Duration) decision {
	if was == nil {
		return decision{action: call}
	}
	changed := was.InputHash != "" && r.InputHash != "" && was.InputHash != r.InputHash
	d := decision{}
	switch was.State {
	case ledger.Done:
		switch {
		case changed:
			d.action = mismatch
		case was.Via == ledger.ViaSignal:
			d.action, d.why = stop, whySignal
		case was.Size < 0 && r.HasResult:
			d.action, d.why = park, whyLacks(was)
		default:
			d.action = give
		}
	case ledger.Awaiting, ledger.Expired:
		d.action, d.why = stop, whySignal
	case ledger.Skipped:
		d.action = give
	case ledger.Parked:
		if d.action, d.why = stop, was.Error; was.LacksResult() {
			d.why = whyLacks(was)
		}
	case ledger.Failed: // the same key, also for another input: a call of it may have landed after all
	default:
		d.action, d.why = afterUnknown(r, changed, age)
		switch {
		case d.action != skip && was.System != r.System: // that one knows neither the key nor the call
			d.action, d.why = park, whySystem
		case d.action == park && was.Calls == 0:
			d.why = whyLost
		}
	}
	return d
}

// whyLacks is the reason for a person who must give a result.
func whyLacks(was *ledger.Row) string {
	if was.Via == ledger.ViaPerson {
		return whyNotGiven
	}
	return whyNoResult
}

// clockSlack is how far in the future the first call of a key may be: further, the database's
// clock was set back, so the age of the key is unknown.
const clockSlack = time.Minute

// afterUnknown decides what to do after a call whose outcome is unknown.
func afterUnknown(r *ledger.Request, changed bool, age time.Duration) (action, string) {
	switch {
	case changed && r.Recover != ledger.Skip:
		return park, whyInput
	case r.Recover == ledger.Retry && (r.KeyWindow == ledger.Forever || age >= -clockSlack && age+r.Timeout < r.KeyWindow):
		return call, ""
	case r.Recover == ledger.Retry && r.Find == nil:
		return park, whyWindow
	case r.Recover == ledger.Retry, r.Recover == ledger.Probe:
		return find, ""
	case r.Recover == ledger.Skip:
		return skip, ""
	}
	return park, whyUnknown
}
