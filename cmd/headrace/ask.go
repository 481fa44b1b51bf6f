package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/headrace/headrace/instance"
)

// askEvery is the time between two looks at an answer, or at a job.
const askEvery = 200 * time.Millisecond

// askerOf asks the processes of the store's consumers.
func askerOf(st openStore) instance.Asker {
	o := st.Operations()
	return instance.Asker{Requests: o.Requests, Instances: o.Instances, Every: askEvery}
}

// ask asks the processes of a consumer, and waits for the answer. Errors are those of
// instance.Asker.
func ask[A any](ctx context.Context, st openStore, r instance.Request, args any, valid time.Duration) (answer A, err error) {
	return askLong(ctx, st, r, args, valid, func(A) {})
}

// askLong is ask for what may take long: soFar is called with what the process has done so far.
func askLong[A any](ctx context.Context, st openStore, r instance.Request, args any, valid time.Duration, soFar func(A)) (answer A, err error) {
	if r, err = r.With(args); err != nil {
		return answer, err
	}
	asker := askerOf(st)
	asker.Taken = func(a instance.Answer) {
		var done A
		if a.Value != nil && json.Unmarshal(a.Value, &done) == nil {
			soFar(done)
		}
	}
	err = asker.Ask(ctx, r, valid, &answer)
	return answer, err
}
