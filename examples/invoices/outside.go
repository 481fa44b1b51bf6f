package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// entry is a line of the systems' own log. It is on the disk before the answer is sent.
type entry struct {
	System string `json:"system"`
	// What is the kind of thing, as "invoices", and Order the order that it is for.
	What  string `json:"what"`
	Order int    `json:"order"`
	Key   string `json:"key"`
	// ID is what was made; "" if nothing was.
	ID string `json:"id,omitempty"`
	// Known says that ID was made by an earlier request.
	Known bool `json:"known,omitempty"`
	// Lost says that the answer was not sent, or after the client's timeout.
	Lost bool `json:"lost,omitempty"`
}

// outside are the four systems, which fail. They stand for real ones: these cannot be made
// to fail on command.
type outside struct {
	faults float64 // the share of requests with a fault
	log    *os.File

	mu    sync.Mutex
	made  map[string]string // the ids of what was made, by system, thing and what identifies it
	count int
}

// openOutside returns the systems with a log in file.
func openOutside(file string, faults float64) (*outside, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &outside{faults: faults, log: f, made: make(map[string]string)}, nil
}

// The faults of a request.
const (
	refuses   = iota // 503, and does nothing
	tooMany          // 429, and does nothing
	forgets          // does it, and closes the connection without an answer
	fails            // does it, and answers 504
	isLate           // does it when the client has gone, and answers then
	faultless        // and all numbers above
)

// late is how long a late system waits before it does anything: longer than the client, and
// shorter than it is given.
const late = timeout + findAfter/2

// ServeHTTP implements http.Handler.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	came := time.Now()
	system, what, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	if r.Method == http.MethodGet {
		o.find(w, system+" "+what+" "+r.URL.Query().Get("reference"))
		return
	}
	var ordered order
	if err := json.NewDecoder(r.Body).Decode(&ordered); err != nil {
		http.Error(w, "not an order", http.StatusBadRequest)
		return
	}
	e := entry{System: system, What: what, Order: ordered.ID, Key: r.URL.Query().Get("reference")}
	fault := faultless
	if rand.Float64() < o.faults {
		fault = rand.IntN(faultless)
	}
	if fault == isLate {
		time.Sleep(late)
	}
	if time.Since(came) > timeout+findAfter { // on a busy machine; it keeps what it promises
		fault = refuses
	}
	switch fault {
	case refuses:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case tooMany:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	e.Lost = fault != faultless
	if err := o.do(&e, &ordered); err != nil {
		panic(err) // a system without a log is no witness
	}
	switch fault {
	case forgets:
		panic(http.ErrAbortHandler)
	case fails:
		w.WriteHeader(http.StatusGatewayTimeout)
		return
	}
	_ = json.NewEncoder(w).Encode(made{ID: e.ID})
}

// do carries a request out, as the system does, and logs it.
func (o *outside) do(e *entry, ordered *order) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	by := e.Key // invoices are found by it, and bookings are made once for each
	if e.What == "customers" {
		by = ordered.Email
	}
	name := e.System + " " + e.What + " " + by
	repeats := e.What == "invoices" || e.System == "bank" || e.System == "mail"
	if e.ID, e.Known = o.made[name]; !e.Known || repeats {
		o.count++
		e.ID, e.Known = fmt.Sprintf("%s-%d", strings.TrimSuffix(e.What, "s"), o.count), false
		o.made[name] = e.ID
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := o.log.Write(append(line, '\n')); err != nil {
		return err
	}
	return o.log.Sync()
}

// find answers what was made for a reference.
func (o *outside) find(w http.ResponseWriter, name string) {
	o.mu.Lock()
	id, found := o.made[name]
	o.mu.Unlock()
	if !found {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(made{ID: id})
}
