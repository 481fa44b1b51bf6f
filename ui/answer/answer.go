package answer

import (
	"context"
	"errors"
	"net/http"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/search"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/store/txn"
)

// Refusal is an error with its status.
type Refusal struct {
	// Status is that of HTTP, and Says the text for the person.
	Status int
	Says   string
}

// Error implements error.
func (e *Refusal) Error() string { return e.Says }

// Status is the status of the answer to r with an error, and what it says to a person; 0 if that person is gone. It is
// ours if the person cannot mend it: it belongs into the log.
func Status(r *http.Request, err error) (status int, says string, ours bool) {
	if status, says = mendable(err); status != 0 {
		return status, says, false
	}
	switch why := txn.Classify(err); {
	case errors.Is(r.Context().Err(), context.Canceled):
		return 0, "", false
	case r.Context().Err() != nil, errors.Is(err, context.DeadlineExceeded), why == txn.LockTimeout:
		status, says = http.StatusServiceUnavailable, "The database did not answer in time."
	case why == txn.Connection, why == txn.Unavailable:
		status, says = http.StatusServiceUnavailable, "The database is not reachable, or cannot work now."
	default:
		status, says = http.StatusInternalServerError, "Something went wrong, and the log says what."
	}
	if r.Method != http.MethodGet {
		says += " Nothing is known of what was done."
	}
	return status, says, true
}

// mendable is Status for what a person can mend; 0 for another error.
func mendable(err error) (status int, says string) {
	if known, ok := errors.AsType[*Refusal](err); ok {
		return known.Status, known.Says
	}
	switch {
	case errors.Is(err, dlq.ErrNotFound), errors.Is(err, groups.ErrNotFound), errors.Is(err, job.ErrNotFound):
		return http.StatusNotFound, err.Error()
	case errors.Is(err, instance.ErrNoAnswer), errors.Is(err, instance.ErrLost):
		return http.StatusServiceUnavailable, err.Error()
	case errors.Is(err, instance.ErrRefused):
		return http.StatusConflict, "Refused: " + err.Error()
	case errors.Is(err, search.ErrWhere), errors.Is(err, instance.ErrInvalid):
		return http.StatusBadRequest, err.Error()
	case txn.NotPermitted(err):
		return http.StatusForbidden, "The login of the database may not do this: run the pages with the role operator of headrace migrate grants, and with admin for what only admins do."
	}
	return 0, ""
}
