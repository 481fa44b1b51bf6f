package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// errRecreated ends a session: the client has seen another incarnation of the topic than
// the one that it consumes.
var errRecreated = errors.New("the topic was deleted")

// session is a member of the group, for one incarnation of a topic.
type session struct {
	topic   string
	options SourceOptions
	out     chan<- *message.Message
	client  *kgo.Client
	outage  *outage
	// values is Subscribe's context, for the values of the messages' contexts.
	values  context.Context
	changed chan struct{}
	budget  *budget
	// ready is closed when client is set: the client makes callbacks as soon as it is
	// made.
	ready chan struct{}
	// rebalance is the timeout that was sent to the group.
	rebalance time.Duration

	mu         sync.Mutex
	partitions map[int32]*partition
	leaving    bool // no more partitions are accepted
	// committing is held from the choice of positions to the answer of the group, and
	// while partitions are released: none is committed after that.
	committing sync.Mutex
}

// newSession makes the client; it joins the group by itself.
func newSession(values context.Context, topic string, o SourceOptions, rebalance time.Duration, out chan<- *message.Message, log *outage) (*session, error) {
	s := &session{
		topic: topic, options: o, out: out, outage: log, values: values, rebalance: rebalance,
		changed: make(chan struct{}, 1), ready: make(chan struct{}), partitions: make(map[int32]*partition),
	}
	s.budget = &budget{most: o.MaxBytes, changed: s.changed}
	fetches := &fetching{most: o.MaxBytes, asked: leastFetch}
	opts := append(o.client(topic, rebalance),
		kgo.OnPartitionsAssigned(s.assigned), kgo.OnPartitionsRevoked(s.revoked), kgo.OnPartitionsLost(s.lost),
		kgo.AdjustFetchOffsetsFn(s.beginAt), kgo.WithHooks(log, fetches),
	)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	s.client = client
	fetches.client.Store(client)
	close(s.ready)
	return s, nil
}

// run consumes until ctx ends, or until an error that the client cannot fix.
func (s *session) run(ctx context.Context) error {
	var commits sync.WaitGroup
	beating, stop := context.WithCancel(ctx)
	commits.Go(func() { s.commitNowAndThen(beating) })
	defer commits.Wait()
	defer stop()
	for s.room(ctx) {
		fetches := s.client.PollFetches(ctx)
		err := s.take(fetches)
		s.client.AllowRebalance()
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// room waits until every partition can take more.
func (s *session) room(ctx context.Context) bool {
	for ctx.Err() == nil {
		if !s.full() {
			return true
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
		}
	}
	return false
}

func (s *session) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.budget.full() {
		for _, p := range s.partitions {
			signal(p.wake) // each looks for what it can release
		}
		return true
	}
	for _, p := range s.partitions {
		if p.full() {
			return true
		}
	}
	return false
}

// take passes the records of fetches to their partitions. Rebalances wait for it.
func (s *session) take(fetches kgo.Fetches) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed []error
	for _, fetch := range fetches {
		for _, t := range fetch.Topics {
			for i := range t.Partitions {
				f := &t.Partitions[i]
				failed = append(failed, s.judge(f.Err))
				if p := s.partitions[f.Partition]; p != nil && len(f.Records) > 0 {
					s.outage.over()
					s.outage.served.Is(nil)
					s.gap(p, f)
					p.add(t.TopicID, f.Records)
				}
			}
		}
	}
	return errors.Join(failed...)
}

// judge returns err if it must end the session; it logs errors that the client fixes
// itself.
func (s *session) judge(err error) error {
	var lost *kgo.ErrDataLoss
	var group *kgo.ErrGroupSession
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, kgo.ErrClientClosed):
		return nil
	case errors.Is(err, kerr.UnknownTopicID):
		return errRecreated
	case errors.As(err, &lost):
		s.options.Logger.Warn("the broker has lost records that were read; going on with what it has", "topic", s.topic, "error", err)
		return nil
	case errors.As(err, &group) && !refused(group.Err):
		s.outage.note("the consumer group", group.Err)
		s.outage.served.Is(group)
		return nil
	}
	return err
}

// refused reports whether the broker will return the same error until a person has
// changed something.
func refused(err error) bool {
	for _, e := range []error{
		kerr.GroupAuthorizationFailed, kerr.TopicAuthorizationFailed, kerr.ClusterAuthorizationFailed,
		kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.InvalidGroupID, kerr.InvalidSessionTimeout,
		kerr.InconsistentGroupProtocol, kerr.UnsupportedVersion, kerr.FencedInstanceID,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// assigned is called with the partitions that this member gets.
func (s *session) assigned(_ context.Context, _ *kgo.Client, added map[string][]int32) {
	<-s.ready
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving {
		return
	}
	for _, number := range added[s.topic] {
		p := newPartition(s.values, s.topic, number, s.out, limits{s.options.Window, s.options.NackPause})
		p.changed, p.pauseFetch, p.budget = s.changed, s.pauseFetch, s.budget
		s.partitions[number] = p
		go p.run() // end waits for it
	}
	s.outage.over()
	s.outage.served.Is(nil)
}

// pauseFetch stops the client from fetching p, or lets it continue.
func (s *session) pauseFetch(p *partition, stop bool) {
	one := map[string][]int32{s.topic: {p.number}}
	if stop {
		s.client.PauseFetchPartitions(one)
	} else {
		s.client.ResumeFetchPartitions(one)
	}
}

// revoked is called before other members get the partitions; they wait for it.
func (s *session) revoked(_ context.Context, _ *kgo.Client, taken map[string][]int32) {
	<-s.ready
	s.end(s.of(taken[s.topic]), s.rebalance/3, s.rebalance/3, true)
}

// lost is called when other members may have the partitions already.
func (s *session) lost(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	<-s.ready
	s.end(s.of(gone[s.topic]), 0, 0, false)
}

func (s *session) of(numbers []int32) (list []*partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, number := range numbers {
		if p := s.partitions[number]; p != nil {
			list = append(list, p)
		}
	}
	return list
}

func (s *session) all() (list []*partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.partitions {
		list = append(list, p)
	}
	return list
}

// end takes partitions from this member: no more of their records are handed over. Those
// handed over may finish. After finish their contexts end, and giveBack later end stops
// waiting for them. Then it commits their positions, if commit is set.
func (s *session) end(list []*partition, finish, giveBack time.Duration, commit bool) {
	if len(list) == 0 {
		return
	}
	for _, p := range list {
		p.drain()
	}
	if !await(list, finish) {
		for _, p := range list {
			p.giveBack()
		}
		await(list, giveBack)
	}
	for _, p := range list {
		p.abandon()
		<-p.done
	}
	s.committing.Lock()
	defer s.committing.Unlock()
	list = s.still(list)
	if commit {
		ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
		defer cancel()
		s.commit(ctx, list)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range list {
		delete(s.partitions, p.number)
		s.pauseFetch(p, false) // the next member begins afresh
	}
	signal(s.changed)
}

// still returns those of list that this member still has: the end of the subscription and
// a rebalance may end the same ones, and a released one must not be committed.
func (s *session) still(list []*partition) (rest []*partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range list {
		if s.partitions[p.number] == p {
			rest = append(rest, p)
		}
	}
	return rest
}

// await waits until all of list are done, for at most d, and reports whether they are.
func await(list []*partition, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for _, p := range list {
		select {
		case <-p.done:
		case <-timer.C:
			return false
		}
	}
	return true
}

// close releases all partitions and leaves the group. run has returned.
func (s *session) close() {
	s.mu.Lock()
	s.leaving = true
	s.mu.Unlock()
	s.end(s.all(), s.options.CloseTimeout/2, s.options.CloseTimeout/2, true)
	ctx, cancel := context.WithTimeout(context.Background(), s.options.CloseTimeout)
	defer cancel()
	if err := s.client.LeaveGroupContext(ctx); err != nil {
		s.options.Logger.Info("the consumer group was not told that a member leaves, and waits for its session to end", "topic", s.topic, "error", err)
	}
	s.client.CloseAllowingRebalance()
}
