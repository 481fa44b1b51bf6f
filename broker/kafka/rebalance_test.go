package kafka_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/headrace/headrace/broker/kafka"
)

// TRAPS, kafka: two owners after a rebalance. What was handed over of a partition that
// the group takes away may finish, and is committed before the next owner begins. Guard:
// session.revoked waits.
//
//evidence:kafka
func TestARevokedPartitionIsDrained(t *testing.T) {
	b := setup(t, 1)
	b.fill(5)
	first := b.source(func(o *kafka.SourceOptions) { o.CloseTimeout = waitTimeout })
	ctx, leave := context.WithCancel(t.Context())
	messages, err := first.Subscribe(ctx, b.topic)
	if err != nil {
		t.Fatal(err)
	}
	list := b.receive(messages, 5)
	second := b.subscribe(b.source(nil))
	leave() // now the only partition goes to the other member
	b.quiet(second, 500*time.Millisecond)
	ack(list...)
	b.committed(5)
	b.fill(1)
	m := b.receive(second, 1)[0]
	m.Ack()
	b.committed(6)
}

// Two members share the partitions; the one that had all of them gives some up, and what
// it had not settled of those in time is given back: its context ends, and what is
// acknowledged later is not committed. Guards: giveBack, the end of partition.run.
func TestWhatARebalanceTakesIsGivenBack(t *testing.T) {
	b := setup(t, 2)
	b.spread(t, 10)
	short := func(o *kafka.SourceOptions) { o.RebalanceTimeout = 9 * time.Second }
	first := b.subscribe(b.source(short))
	held := b.receive(first, 20)
	second := b.subscribe(b.source(short))
	taken := b.receive(second, 10) // again, from the start of its partition
	lost := 0
	for _, m := range held {
		if m.Context().Err() != nil {
			lost++
		}
	}
	if lost != 10 {
		t.Errorf("%d of 20 messages were given back, want those of one partition", lost)
	}
	ack(held...) // half of them too late
	b.eventually("one partition is committed", func() (string, bool) {
		left, err := b.Left(t.Context(), b.topic)
		if err != nil {
			t.Fatal(err)
		}
		return "", left == 10
	})
	b.quiet(second, 500*time.Millisecond)
	if left, err := b.Left(t.Context(), b.topic); err != nil || left != 10 {
		t.Fatalf("%d are left (%v): a late acknowledgement was committed", left, err)
	}
	ack(taken...)
	b.eventually("all is committed", func() (string, bool) {
		left, err := b.Left(t.Context(), b.topic)
		return "", err == nil && left == 0
	})
}

// What was handed over of a partition that goes may finish: nothing of it comes twice.
// Guard: session.revoked waits for it.
func TestARebalanceLetsHandlersFinish(t *testing.T) {
	b := setup(t, 2)
	b.spread(t, 10)
	first := b.subscribe(b.source(nil))
	held := b.receive(first, 20)
	second := b.subscribe(b.source(nil))
	b.eventually("two members", func() (string, bool) {
		n, err := b.members(t.Context())
		return fmt.Sprint(n, " members ", err), n == 2
	})
	b.quiet(second, time.Second) // the second has to wait for the first
	ack(held...)
	b.spread(t, 1)
	for range 2 { // one for each of them
		select {
		case m := <-first:
			m.Ack()
		case m := <-second:
			m.Ack()
		case <-time.After(waitTimeout):
			t.Fatal("nothing comes")
		}
	}
	b.eventually("all is committed", func() (string, bool) {
		left, err := b.Left(t.Context(), b.topic)
		return fmt.Sprint(left, err), err == nil && left == 0
	})
	b.quiet(second, 200*time.Millisecond)
}

// A handler that takes longer is told by its context while there is time: what it does
// then still counts. Guard: session.end gives back before it abandons.
func TestARebalanceTellsHandlers(t *testing.T) {
	b := setup(t, 2)
	b.spread(t, 10)
	short := func(o *kafka.SourceOptions) { o.RebalanceTimeout = 9 * time.Second }
	held := b.receive(b.subscribe(b.source(short)), 20)
	for _, m := range held {
		context.AfterFunc(m.Context(), func() { m.Ack() })
	}
	second := b.subscribe(b.source(short))
	b.eventually("what was given up is committed", func() (string, bool) {
		left, err := b.Left(t.Context(), b.topic)
		return fmt.Sprint(left, err), err == nil && left == 10
	})
	b.quiet(second, time.Second)
}

// members is how many the group has.
func (b *bundle) members(ctx context.Context) (n int, err error) {
	err = b.client(func(c *kgo.Client) error {
		ask := kmsg.NewPtrDescribeGroupsRequest()
		ask.Groups = []string{b.group}
		answer, err := ask.RequestWith(ctx, c)
		if err != nil {
			return err
		}
		for _, g := range answer.Groups {
			n += len(g.Members)
		}
		return nil
	})
	return n, err
}

// INVARIANTS, fault 44: a member that the group took for dead commits nothing any more,
// its messages' contexts end, and it begins anew. Guard: session.lost.
func TestALostPartitionIsNotCommitted(t *testing.T) {
	b := setup(t, 1)
	b.fill(3)
	wire := newWire(t, b.addr)
	zombie := b.subscribe(b.source(func(o *kafka.SourceOptions) {
		o.Client, o.SessionTimeout = append(o.Client, through(wire.addr())), session
	}))
	held := b.receive(zombie, 3)
	wire.cut()
	second := b.subscribe(b.source(nil))
	taken := b.receive(second, 3)
	ack(taken[:1]...)
	b.committed(1)
	wire.mend()
	for _, m := range held {
		b.ends(m)
	}
	ack(held...)
	b.quiet(second, time.Second)
	if at := b.offset(); at != 1 {
		t.Fatalf("offset %d is committed: the dead member's", at)
	}
	ack(taken[1:]...)
	b.committed(3)
}

// spread publishes n records to each of the two partitions.
func (b *bundle) spread(t *testing.T, n int) {
	t.Helper()
	var records []*kgo.Record
	for i := range 2 * n {
		records = append(records, &kgo.Record{Partition: int32(i % 2), Value: []byte("x")})
	}
	err := b.client(func(c *kgo.Client) error { return c.ProduceSync(t.Context(), records...).FirstErr() },
		kgo.DefaultProduceTopic(b.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
}
