package ledger

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/headrace/headrace/retry"
)

// The least and longest wait of a Retry-After that HTTP follows.
const (
	leastRetryAfter   = time.Second
	longestRetryAfter = 15 * time.Minute
)

// HTTP says what the answer of an HTTP call means for a step. It takes the results of
// http.Client.Do, and returns the error to be returned from the function of Step.Do; it
// leaves the body to the caller. From status 300 on the status decides, whatever err is.
//
//	2xx                      nil; with an error the outcome is unknown
//	no connection            NotSent, if no request was written in this call
//	401, 403                 NotSent
//	429                      NotSent, postponed for Retry-After (1 s to 15 min); the steps of
//	                         all processes leave the system alone for at most a minute
//	other 4xx                Refused and permanent; but after a call whose outcome is
//	                         unknown a person must look
//	3xx, 408, 409, 423, 425,
//	5xx, no answer           unknown
//
// net/http repeats a POST that has an Idempotency-Key header by itself when its
// connection breaks. So NotSent and Refused hold only if each request that this call wrote
// has an answer. net/http also follows a 302 with a GET: the answer is then not that of
// the POST, and the outcome is unknown.
//
// HTTP cannot see an error in the body of a 200, as of GraphQL: read it and return Refused.
// A 409 may mean "exists" or "under way": only the caller knows, and returns Exists.
func HTTP(answer *http.Response, err error) error {
	if answer == nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op != nil && op.Op == "dial" {
			return &marked{err: err, certainty: CertainlyNotSent, dial: true}
		}
		if err == nil {
			err = errors.New("ledger.HTTP has neither an answer nor an error")
		}
		return err
	}
	status := answer.StatusCode
	if status >= 300 || err == nil && methodChanged(answer) {
		err = fmt.Errorf("answer %d %s", status, http.StatusText(status))
	}
	switch {
	case methodChanged(answer):
		return fmt.Errorf("a redirect turned the request into a GET: %w", err)
	case status < 300, status < 400, status >= 500:
		return err
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly:
		return err
	case http.StatusUnauthorized, http.StatusForbidden:
		return &marked{err: err, certainty: CertainlyNotSent, answered: true}
	case http.StatusTooManyRequests:
		wait := retryAfter(answer.Header)
		return retry.Postpone(wait, &marked{err: err, certainty: CertainlyNotSent, answered: true, wait: wait})
	}
	return retry.Permanent(&marked{err: err, certainty: StatusRefused, answered: true})
}

// methodChanged reports whether the answer is that of a GET after a redirect of another
// request.
func methodChanged(answer *http.Response) bool {
	for r := answer.Request; r != nil && r.Response != nil; r = r.Response.Request {
		if before := r.Response.Request; before != nil && before.Method != r.Method {
			return true
		}
	}
	return false
}

// retryAfter reads the header Retry-After: seconds or a date.
func retryAfter(h http.Header) time.Duration {
	var d time.Duration
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		d = time.Duration(min(seconds, int(longestRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		now := time.Now()
		if date, err := http.ParseTime(h.Get("Date")); err == nil { // the other side's clock
			now = date
		}
		d = at.Sub(now)
	}
	return min(max(d, leastRetryAfter), longestRetryAfter)
}
