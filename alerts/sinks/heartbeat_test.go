package sinks

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A pulse beats while the check passes, and goes on after a call that failed.
func TestHeartbeat(t *testing.T) {
	var calls atomic.Int64
	beats := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		beats <- struct{}{}
	}))
	defer server.Close()
	p, err := Heartbeat(server.URL+"/canary", Options{Plain: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil || p.every != time.Minute {
		t.Fatal(p, err)
	}
	p.every = time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	var alive atomic.Bool
	alive.Store(true)
	checked := make(chan bool, 1000)
	failures := make(chan error, 100)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx, func() error {
			if alive.Load() {
				return nil
			}
			select {
			case checked <- true:
			default:
			}
			return errors.New("dead")
		}, func(err error) { failures <- err })
	}()
	<-beats
	<-beats
	if err := <-failures; strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "heartbeat") {
		t.Error(err)
	}
	alive.Store(false)
	<-checked
	before := calls.Load()
	<-checked
	<-checked
	if calls.Load() != before {
		t.Error("it beats for a consumer that is not alive")
	}
	stop()
	<-ended
}
