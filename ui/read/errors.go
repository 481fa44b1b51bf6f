package read

import (
	"errors"
	"net/http"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/search"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/store/txn"
)

// Status is the status of an answer with an error, and what it says to a person; 0 if the error is none that
// a person can mend.
func Status(err error) (status int, says string) {
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
