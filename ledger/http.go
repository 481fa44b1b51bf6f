package ledger

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
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
//	no connection            NotSent, if no request of this call got one
//	401, 403                 NotSent
//	429                      NotSent, postponed for Retry-After (1 s to 15 min); the steps of
//	                         all processes leave the system alone for at most a minute
//	other 4xx                Refused and permanent; but after a call whose outcome is
//	                         unknown a person must look
//	1xx, 3xx, 408, 409, 423,
//	425, 5xx, no answer      unknown
//
// net/http repeats a POST that has an Idempotency-Key header by itself when its
// connection breaks. So NotSent and Refused hold only if each request that this call wrote
// has an answer. They do not hold either if the call made another request before, which may
// have done something: make one request in a step, and get a token before Do, or return
// Refused yourself. net/http also follows a 302 with a GET: the answer is then not that of
// the POST, and the outcome is unknown.
//
// HTTP cannot see an error in the body of a 200, as of GraphQL: read it and return Refused.
// A 409 may mean "exists" or "under way": only the caller knows, and returns Exists.
func HTTP(answer *http.Response, err error) error {
	if answer == nil {
		if err == nil {
			return errors.New("ledger.HTTP has neither an answer nor an error")
		}
		op, dial := errors.AsType[*net.OpError](err)
		return &marked{err: err, certainty: CertainlyNotSent, unanswered: true, dial: dial && op != nil && op.Op == "dial"}
	}
	status := answer.StatusCode
	hops, changed := path(answer)
	if status < 200 || status >= 300 || err == nil && changed {
		err = errors.New(strings.TrimSpace(fmt.Sprintf("answer %d %s", status, http.StatusText(status))))
	}
	switch {
	case changed:
		return fmt.Errorf("a redirect turned the request into a GET: %w", err)
	case status < 300, status < 400, status >= 500:
		return err
	}
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked, http.StatusTooEarly:
		return err
	case http.StatusUnauthorized, http.StatusForbidden:
		return &marked{err: err, certainty: CertainlyNotSent, hops: hops}
	case http.StatusTooManyRequests:
		wait := retryAfter(answer.Header)
		return retry.Postpone(wait, &marked{err: err, certainty: CertainlyNotSent, hops: hops, wait: wait})
	}
	return retry.Permanent(&marked{err: err, certainty: StatusRefused, hops: hops})
}

// path returns how many requests led to the answer, one more with each redirect, and whether it
// is that of a GET after a redirect of another request.
func path(answer *http.Response) (hops int, changed bool) {
	hops = 1
	for r := answer.Request; r != nil && r.Response != nil; r = r.Response.Request {
		hops++
		if before := r.Response.Request; before != nil && before.Method != r.Method {
			changed = true
		}
	}
	return hops, changed
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
