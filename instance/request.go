package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Request asks the processes of a consumer to do something that only they can: they have the
// handlers, the key functions and the build. One of them takes it, and answers.
type Request struct {
	// ID is given by Requests.
	ID int64
	// Kind says what to do. A process takes only kinds that it knows.
	Kind string
	// Consumer is asked. Build and Host choose among its processes; empty is any.
	Consumer, Build, Host string
	// Args are JSON. They are removed an hour after Until; those with content of a message already
	// with the answer.
	Args []byte
	// By says who asks, Reason why. DBUser is the login that asked; the database sets it.
	By, Reason, DBUser string
	// Once names the form that asks, so that a form that is sent twice asks once; "" is none. At
	// most 64 bytes. Get and Take do not return it.
	Once string
	// At is when it was asked. After Until it is no longer taken. The database sets both.
	At, Until time.Time
	// Left is how long it could still be taken when Get read it; below 0 if its time was over.
	Left time.Duration
}

const (
	// Valid is how long a request may usually wait to be taken: an hour later a person no longer
	// expects it.
	Valid = 30 * time.Second
	// MaxValid bounds it.
	MaxValid = 24 * time.Hour
)

// With returns r with args, encoded, as its Args.
func (r Request) With(args any) (Request, error) {
	encoded, err := json.Marshal(args)
	if err != nil {
		return r, fmt.Errorf("encode the request: %w", err)
	}
	r.Args = encoded
	return r, nil
}

// Read decodes Args into args. An error matches ErrRefused.
func (r Request) Read(args any) error {
	if err := json.Unmarshal(r.Args, args); err != nil {
		return Refuse("what is asked cannot be read: %v", err)
	}
	return nil
}

// RequestState is the life of a request.
type RequestState string

// The states of a request.
const (
	RequestWaiting RequestState = "waiting" // no process has taken it
	RequestTaken   RequestState = "taken"   // a process works on it, or died with it
	RequestDone    RequestState = "done"
	RequestRefused RequestState = "refused" // nothing was changed
	RequestFailed  RequestState = "failed"
	RequestExpired RequestState = "expired" // no process took it, and nothing was done
)

// Answer is what became of a request.
type Answer struct {
	// State is RequestWaiting until a process takes it.
	State RequestState
	// Instance is the id of the process that took it, and TakenBy its host and build.
	Instance, TakenBy string
	// Value is JSON: the result of a request that is done, or the progress of a long one; nil otherwise.
	Value []byte
	// Error says why it was refused or failed, for a person.
	Error string
}

// ErrRefused matches the error of a request that was refused: nothing was changed, and the error
// says what to do.
var ErrRefused = errors.New("refused")

// Refuse returns an error that matches ErrRefused, with this text alone.
func Refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// refusal is the text of a refused request.
type refusal string

func (r refusal) Error() string        { return string(r) }
func (r refusal) Is(target error) bool { return target == ErrRefused }

// Requests keeps requests. Drivers implement it.
type Requests interface {
	// Ask records a request that may be taken for valid, at most MaxValid, and returns its id.
	// If one with the same Once exists, it returns that id and records nothing. The error
	// matches ErrInvalid if the consumer's name is not valid.
	Ask(ctx context.Context, r Request, valid time.Duration) (int64, error)
	// Asked returns the id of the request with this Once; 0 if there is none.
	Asked(ctx context.Context, once string) (int64, error)
	// Take takes the oldest waiting request of kinds whose Consumer is that of self, and whose
	// Build and Host are empty or those of self. It reports false if there is none. No two
	// processes take the same, and none takes one whose time is over. If there is none, it
	// reads one index and takes no lock.
	Take(ctx context.Context, self Instance, kinds []string) (Request, bool, error)
	// Answer records the answer to a request that self has taken. Only the first one counts, except for
	// progress, with the state RequestTaken. A refusal is also a row of the audit.
	Answer(ctx context.Context, id int64, self Instance, a Answer) error
	// Get returns a request and what became of it. It reports false if there is none.
	Get(ctx context.Context, id int64) (Request, Answer, bool, error)
	// Expire ends the waiting requests whose time has been over for longer than age, and removes the Args of
	// those and of the ones that were taken and not answered.
	Expire(ctx context.Context, age time.Duration) error
	// Forget removes the requests whose time has been over for longer than age.
	Forget(ctx context.Context, age time.Duration) error
}
