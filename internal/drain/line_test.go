package drain_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/shard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeLine is a line in memory. A fake, because these tests are about when Drain
// calls and whom, to the millisecond, under synctest's clock, which a database does
// not follow. The engines on top are tested on real stores.
type fakeLine struct {
	t     *testing.T
	batch int
	took  time.Duration // of a Work
	// bottomCost is what one that begins at the bottom takes beside that.
	bottomCost time.Duration

	mu      sync.Mutex
	rows    [shard.Count][]int64
	working [shard.Count]bool
	skip    map[int]bool
	workErr map[int]error
	pollErr error
	next    time.Duration
	polls   []poll
	visits  []visit
	worked  map[int64]time.Time
}

type poll struct {
	at    time.Time
	marks []int64
}

type visit struct {
	at    time.Time
	shard int
	after int64
	rows  int
}

func newLine(t *testing.T) *fakeLine {
	return &fakeLine{
		t: t, batch: 10, skip: map[int]bool{}, workErr: map[int]error{}, worked: map[int64]time.Time{},
	}
}

func (l *fakeLine) add(shard int, rows ...int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows[shard] = append(l.rows[shard], rows...)
	slices.Sort(l.rows[shard])
}

func (l *fakeLine) Poll(_ context.Context, marks []int64) (drain.Polled, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.polls = append(l.polls, poll{time.Now(), marks})
	if l.pollErr != nil {
		return drain.Polled{}, l.pollErr
	}
	p := drain.Polled{Next: l.next}
	for i, rows := range l.rows {
		if len(rows) > 0 && rows[len(rows)-1] > marks[i] {
			p.Shards = append(p.Shards, i)
		}
	}
	return p, nil
}

func (l *fakeLine) Work(_ context.Context, shard int, after int64) (drain.Result, error) {
	l.mu.Lock()
	if l.working[shard] {
		l.t.Errorf("shard %d is worked on twice at once", shard)
	}
	l.working[shard] = true
	l.mu.Unlock()
	time.Sleep(l.took)
	if after == 0 {
		time.Sleep(l.bottomCost)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working[shard] = false
	v := visit{at: time.Now(), shard: shard, after: after}
	defer func() { l.visits = append(l.visits, v) }()
	if err := l.workErr[shard]; err != nil {
		return drain.Result{}, err
	}
	if l.skip[shard] {
		return drain.Result{Skipped: true}, nil
	}
	from, _ := slices.BinarySearch(l.rows[shard], after+1)
	to := min(from+l.batch, len(l.rows[shard]))
	r := drain.Result{Mark: after, Rows: to - from, More: to-from == l.batch}
	for _, row := range l.rows[shard][from:to] {
		r.Mark = row
		l.worked[row] = time.Now()
	}
	l.rows[shard] = slices.Delete(l.rows[shard], from, to)
	v.rows = r.Rows
	return r, nil
}

// during runs a Drain of l under a fake clock for d, or for as long as do takes.
func (l *fakeLine) during(d time.Duration, o drain.Options, do func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		drain.New(l, o).Run(ctx)
	}()
	if do != nil {
		do()
	}
	time.Sleep(d)
	synctest.Wait()
	cancel()
	<-done
}

func span(n int, from int64) []int64 {
	rows := make([]int64, n)
	for i := range rows {
		rows[i] = from + int64(i)
	}
	return rows
}

var errBroken = errors.New("broken")
