package main

import (
	"context"
	"time"

	"github.com/headrace/headrace/instance"
)

// askEvery is the time between two looks at an answer, or at a job.
const askEvery = 200 * time.Millisecond

// ask asks the processes of a consumer, and waits for the answer. Errors are those of
// instance.Asker.
func ask[A any](ctx context.Context, st openStore, r instance.Request, args any, valid time.Duration) (answer A, err error) {
	if r, err = r.With(args); err != nil {
		return answer, err
	}
	o := st.Operations()
	err = instance.Asker{Requests: o.Requests, Instances: o.Instances, Every: askEvery}.Ask(ctx, r, valid, &answer)
	return answer, err
}
