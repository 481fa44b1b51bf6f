package intent

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
)

// Status is the JSON of an intent that Handler answers with.
type Status struct {
	// Key is the Idempotency-Key.
	Key string `json:"key"`
	// State is "waiting", "done", "dead" or "discarded", since the time Since.
	State inbox.State `json:"state"`
	Since time.Time   `json:"since"`
	// Attempts is how many runs have failed.
	Attempts int `json:"attempts"`
	// Answer is the handler's, of one that is done.
	Answer json.RawMessage `json:"answer,omitempty"`
	// Letter and Class are the number of the dead letter, and why the intent was given up.
	Letter int64     `json:"letter,omitempty"`
	Class  dlq.Class `json:"class,omitempty"`
	// Until is Intent.Until.
	Until time.Time `json:"until,omitzero"`
}

// Problem is the JSON of any other answer.
type Problem struct {
	// Error says what is wrong, for people.
	Error string `json:"error"`
}

func status(key string, i *Intent) Status {
	s := Status{Key: key, State: i.State, Since: i.At.UTC(), Attempts: len(i.Attempts), Answer: i.Answer, Until: i.Until}
	if i.Letter != nil {
		s.Letter, s.Class = i.Letter.LetterID, i.Letter.Class
	}
	return s
}

// reply writes an answer.
func reply(w http.ResponseWriter, code int, body any) {
	b, err := json.Marshal(body)
	if err != nil { // strings, numbers, times of the database and JSON always have a JSON form
		panic("intent: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(b, '\n')) // the client may be gone
}

// refuse answers without an intent, and logs what is not the caller's.
func (h *handler[T]) refuse(w http.ResponseWriter, r *refusal) {
	switch r.code {
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", "GET, HEAD, POST")
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	if r.err != nil {
		h.client.failed(h.kind.Scope(), encode.Said(r.err))
	}
	reply(w, r.code, Problem{r.text})
}
