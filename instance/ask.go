package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/sleep"
)

// ErrNoAnswer matches the error of a request that no process took in its time: nothing was
// done, and nothing will be.
var ErrNoAnswer = errors.New("no process answers")

// ErrLost matches the error of a request whose process ended before it answered. The request may
// have been done.
var ErrLost = errors.New("the process that took the request has ended")

// ErrGone matches the error of a request that does not exist, or that retention has removed.
var ErrGone = errors.New("is gone")

// TakeTime is how long taking a request may last at most: a process that took one and finds
// that it lasted longer refuses it. So a request that still waits for so long after its Until
// was not taken.
const TakeTime = 2 * time.Second

// Asker asks processes, and waits for their answer. All fields but Taken are required.
type Asker struct {
	// Requests and Instances are those of the store.
	Requests  Requests
	Instances Store
	// Every is the time between two looks at the answer.
	Every time.Duration
	// Taken is called at each look of Ask at a request that was taken and is not answered.
	Taken func(Answer)
}

// Ask asks, waits for the answer, and decodes its value into out unless that is nil. It blocks
// until there is an answer, or none can come any more; if ctx ends first, the request
// stays. A request that is valid for no longer than Valid is not asked if no process runs.
//
// The error matches ErrRefused if the request was refused, ErrNoAnswer if no process took
// it for the time valid, and ErrLost if the process that took it has ended. Another error of
// the process has its text.
func (a Asker) Ask(ctx context.Context, r Request, valid time.Duration, out any) error {
	id, err := a.Start(ctx, r, valid)
	if err != nil {
		return err
	}
	for {
		_, answer, done, err := a.Look(ctx, id)
		switch {
		case err != nil:
			return err
		case done:
			return answer.Read(out)
		}
		if answer.State == RequestTaken && a.Taken != nil {
			a.Taken(answer)
		}
		if !sleep.For(ctx, a.Every) {
			return fmt.Errorf("request %d is %s: %w", id, answer.State, context.Cause(ctx))
		}
	}
}

// Reaches returns nil if a process of the consumer runs that may take a request, and otherwise the error
// of Ask. It sends no request.
func (a Asker) Reaches(ctx context.Context, consumer string) error {
	return a.unanswered(ctx, Request{Consumer: consumer}, false)
}

// Start asks, and does not wait: Look finds the answer by the id that it returns. The error
// matches ErrNoAnswer as that of Ask.
func (a Asker) Start(ctx context.Context, r Request, valid time.Duration) (int64, error) {
	if valid <= Valid {
		if err := a.unanswered(ctx, r, false); err != nil {
			return 0, err
		}
	}
	return a.Requests.Ask(ctx, r, valid)
}

// Look returns a request and its answer, and whether it is answered; it does not wait. Errors
// are those of Ask where no answer can come any more, and ErrGone. Every is not used.
func (a Asker) Look(ctx context.Context, id int64) (r Request, answer Answer, done bool, err error) {
	r, answer, ok, err := a.Requests.Get(ctx, id)
	switch {
	case err != nil:
	case !ok:
		err = fmt.Errorf("request %d %w", id, ErrGone)
	case answer.State == RequestWaiting && r.Left < -TakeTime:
		err = a.unanswered(ctx, r, true)
	case answer.State == RequestExpired:
		err = silence(fmt.Sprintf("request %d (%s) has expired: no process of %s took it by %s. Nothing was done",
			id, r.Kind, r.Consumer, r.Until.Local().Format("2006-01-02 15:04")))
	case answer.State == RequestTaken:
		err = a.lost(ctx, id, r, answer)
	default:
		done = answer.State != RequestWaiting
	}
	return r, answer, done, err
}

// Read returns an answer as an error, or decodes its value into out unless that is nil. The
// error matches ErrRefused if the request was refused.
func (a Answer) Read(out any) error {
	switch {
	case a.State == RequestRefused:
		return refusal(a.Error)
	case a.State != RequestDone:
		return errors.New(a.Error)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(a.Value, out); err != nil {
		return fmt.Errorf("the answer of %s: %w", a.TakenBy, err)
	}
	return nil
}

// lost returns an error if the process that took the request has ended.
func (a Asker) lost(ctx context.Context, id int64, r Request, taken Answer) error {
	list, err := a.Instances.List(ctx, r.Consumer)
	if err != nil {
		return err
	}
	for _, i := range list {
		if i.ID == taken.Instance && i.Alive() {
			return nil
		}
	}
	// It may have answered before it ended.
	if _, now, ok, err := a.Requests.Get(ctx, id); err != nil || ok && now.State != RequestTaken {
		return err
	}
	return fmt.Errorf("%w: %s of %s, before it answered request %d (%s). It may have done it", ErrLost, taken.TakenBy, r.Consumer, id, r.Kind)
}

// unanswered says why no process takes the request: nil if one may.
func (a Asker) unanswered(ctx context.Context, r Request, waited bool) error {
	list, err := a.Instances.List(ctx, r.Consumer)
	if err != nil {
		return err
	}
	var running int
	var ended []Instance
	var last Instance
	for _, i := range list {
		switch {
		case r.Build != "" && r.Build != i.Build || r.Host != "" && r.Host != i.Host:
		case i.Alive():
			running++
		default:
			if ended = append(ended, i); i.Beat.After(last.Beat) {
				last = i
			}
		}
	}
	gone := 0 // the last ones that ran; list has all that ended in an hour
	for _, i := range ended {
		if last.Beat.Sub(i.Beat) <= Missed {
			gone++
		}
	}
	why := "none ran in the last hour"
	switch {
	case running > 0 && !waited:
		return nil
	case running > 0:
		why = fmt.Sprintf("%d running, and none took a request of the kind %s", running, r.Kind)
	case gone > 0:
		were := "there were %d"
		if gone == 1 {
			were = "there was %d"
		}
		why = fmt.Sprintf(were+" until %s, the last beat on %s", gone, last.Beat.Local().Format("15:04"), last.Host)
	}
	who := r.Consumer
	if r.Build != "" {
		who += " with build " + r.Build
	}
	if r.Host != "" {
		who += " on " + r.Host
	}
	return silence("no process of " + who + " answers; " + why + ". Nothing was done")
}

// silence is the text of a request without an answer.
type silence string

func (s silence) Error() string        { return string(s) }
func (s silence) Is(target error) bool { return target == ErrNoAnswer }
