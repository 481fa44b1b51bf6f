package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// entry is a line of the stand-ins' own log.
type entry struct {
	system, key string // model, desk or bank; the reference of the request
	request
	id   string // of what was made
	lost bool   // the answer was not sent
}

// outside are the model, the desk and the bank, which fail. They stand for real ones: these
// cannot be made to fail on command.
type outside struct {
	faults float64       // the share of requests with a fault
	came   chan struct{} // has a value after a request

	mu  sync.Mutex
	log []entry
}

func newOutside(faults float64) *outside {
	return &outside{faults: faults, came: make(chan struct{}, 1)}
}

// The faults of a request.
const (
	refuses   = iota // 503, and does nothing
	forgets          // does it, and closes the connection without an answer
	fails            // does it, and answers 504
	faultless        // and all numbers above
)

// ServeHTTP implements http.Handler.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case o.came <- struct{}{}:
	default:
	}
	system, _, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	reference := r.URL.Query().Get("reference")
	if r.Method == http.MethodGet {
		o.find(w, system, reference)
		return
	}
	e := entry{system: system, key: reference}
	if err := json.NewDecoder(r.Body).Decode(&e.request); err != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	fault := faultless
	if rand.Float64() < o.faults {
		fault = rand.IntN(faultless)
	}
	if system == "bank" && len(o.entries("bank")) == 0 {
		fault = forgets // at least once a person must decide
	}
	if fault == refuses {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if system == "model" {
		time.Sleep(20*time.Millisecond + rand.N(60*time.Millisecond))
	}
	e.lost = fault != faultless
	answer := o.do(e)
	switch fault {
	case forgets:
		panic(http.ErrAbortHandler)
	case fails:
		w.WriteHeader(http.StatusGatewayTimeout)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// do carries a request out, each time anew, and logs it. The model's answer is another one
// each time.
func (o *outside) do(e entry) (answer any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e.id = fmt.Sprintf("%s-%d", e.system, len(o.log)+1)
	if answer = (made{ID: e.id}); e.system == "model" {
		e.Class = class{Refund: rand.IntN(3) > 0, Reply: "answer " + e.id}
		answer = e.Class
	}
	o.log = append(o.log, e)
	return answer
}

// find answers what was made for a reference.
func (o *outside) find(w http.ResponseWriter, system, reference string) {
	for _, e := range o.entries(system) {
		if e.key == reference {
			_ = json.NewEncoder(w).Encode(made{ID: e.id})
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

// entries is the log of one system.
func (o *outside) entries(system string) (list []entry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.log {
		if e.system == system {
			list = append(list, e)
		}
	}
	return list
}
