package steps

import (
	"fmt"

	"github.com/headrace/headrace/ledger"
)

// callOutcome is what came of a call that returned an error.
type callOutcome struct {
	// state is the state to record; Done means that Find has the result.
	state ledger.State
	// renew begins a new generation: the next call has another key.
	renew bool
	// why is the reason for a person, in state Parked.
	why string
}

// judge decides what came of a call by what its error said says, which is c. earlier says
// that the outcome of an earlier call of the same key is unknown, repeated that a person has
// said that there was none, or nothing came of it.
func judge(r *ledger.Request, c ledger.Certainty, said error, earlier, repeated bool) callOutcome {
	switch c {
	case ledger.PersonAsked:
		return callOutcome{state: ledger.Parked, why: said.Error()}
	case ledger.AlreadyExists:
		if r.Find == nil {
			return callOutcome{state: ledger.Parked, why: whyExists}
		}
		return callOutcome{state: ledger.Done}
	case ledger.StatusRefused:
		switch {
		case earlier:
			return callOutcome{state: ledger.Parked, why: fmt.Sprintf(whyStatus, ledger.Marked(said))}
		case repeated:
			return callOutcome{state: ledger.Parked, why: fmt.Sprintf(whyRepeated, ledger.Marked(said))}
		}
		return callOutcome{state: ledger.Failed, renew: true}
	case ledger.CertainlyRefused:
		// A system that drops repetitions speaks of the key; any other of this request.
		if earlier && r.Recover != ledger.Retry {
			return callOutcome{state: ledger.Pending}
		}
		return callOutcome{state: ledger.Failed, renew: true}
	case ledger.CertainlyNotSent:
		if earlier {
			return callOutcome{state: ledger.Pending}
		}
		return callOutcome{state: ledger.Failed}
	}
	switch r.Recover {
	case ledger.Park:
		return callOutcome{state: ledger.Parked, why: whyUnknown}
	case ledger.Skip:
		return callOutcome{state: ledger.Skipped}
	}
	return callOutcome{state: ledger.Pending}
}
