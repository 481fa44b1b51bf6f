package storetest

import (
	"slices"
	"time"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

var topicTests = []test{
	{name: "chosen topics are polled and read past all others", run: topicsChosen},
	{name: "held rows of chosen topics are polled and read past all others", run: topicsHeld},
}

// onShard returns rows of a topic without an order key, all on one shard.
func onShard(shard int, topic string, first, count int) []outbox.Row {
	rows := rowsOf(topic, "", first, count)
	for i := range rows {
		rows[i].Shard = shard
	}
	return rows
}

func (b *bundle) pollTopics(marks []int64, topics outbox.Topics) (outbox.Poll, []int64) {
	b.Helper()
	p, err := b.Store.Outbox().Poll(b.ctx, marks, topics)
	if err != nil {
		b.Fatalf("Poll: %v", err)
	}
	if len(p.Tops) != outbox.Shards {
		b.Fatalf("Poll gave %d tops", len(p.Tops))
	}
	return p, p.Tops
}

// Local delivery takes its topics out of an outbox that is full of others.
func topicsChosen(b *bundle) {
	b.publish(slices.Concat(onShard(3, "other", 0, 5), onShard(3, "chosen", 5, 2), onShard(3, "other", 7, 1), onShard(4, "other", 8, 1))...)
	only, rest := outbox.Topics{Names: []string{"chosen", "absent"}}, outbox.Topics{Names: []string{"chosen"}, Except: true}
	marks := make([]int64, outbox.Shards)
	p, tops := b.pollTopics(marks, only)
	if !slices.Equal(p.Shards, []int{3}) {
		b.Errorf("the chosen are on shards %v, want 3", p.Shards)
	}
	all := b.lineOf(3)
	if tops[3] != all[7].RowID || tops[4] == 0 || tops[0] != 0 {
		b.Errorf("tops %v, want that of shard 3 to be %d", tops, all[7].RowID)
	}
	if p, _ := b.pollTopics(marks, rest); !slices.Equal(p.Shards, []int{3, 4}) {
		b.Errorf("the others are on shards %v, want 3 and 4", p.Shards)
	}
	if p, _ := b.pollTopics(tops, rest); len(p.Shards) != 0 {
		b.Errorf("above the tops: shards %v", p.Shards)
	}
	if p := b.outboxPoll(marks); !slices.Equal(p.Shards, []int{3, 4}) || p.Tops != nil {
		b.Errorf("of all topics: %+v", p)
	}
	b.in(func(t *txn.Txn) {
		rows, err := b.Store.Outbox().Read(b.ctx, t, 3, 0, 10, only)
		b.must(err)
		b.wantIDs("the chosen", rows, all[5].Event.ID, all[6].Event.ID)
		b.without(t, 3, rows[:1], func() {
			rows, err := b.Store.Outbox().Read(b.ctx, t, 3, all[5].RowID, 10, only)
			b.must(err)
			b.wantIDs("the chosen above a mark", rows, all[6].Event.ID)
		})
		rows, err = b.Store.Outbox().Read(b.ctx, t, 3, all[3].RowID, 2, rest)
		b.must(err)
		b.wantIDs("the others", rows, all[4].Event.ID, all[7].Event.ID)
	})
}

// So it does of what is held: a delay that has passed, and one that has not.
func topicsHeld(b *bundle) {
	b.publish(slices.Concat(onShard(3, "other", 0, 2), onShard(3, "chosen", 2, 2))...)
	b.in(func(t *txn.Txn) { b.hold(t, 3, 0, outbox.Backoff, outbox.Backoff, outbox.Backoff, outbox.Parked) })
	late := onShard(5, "chosen", 4, 1)
	late[0].Event.Delay = time.Hour
	b.publish(late...)
	only, rest := outbox.Topics{Names: []string{"chosen"}}, outbox.Topics{Names: []string{"chosen"}, Except: true}
	marks := make([]int64, outbox.Shards)
	if p, _ := b.pollTopics(marks, only); !slices.Equal(p.Shards, []int{3}) || p.Next < 50*time.Minute {
		b.Errorf("the chosen: %+v", p)
	}
	if p, _ := b.pollTopics(marks, rest); !slices.Equal(p.Shards, []int{3}) || p.Next != 0 {
		b.Errorf("the others: %+v", p)
	}
	b.in(func(t *txn.Txn) {
		held, err := b.Store.Outbox().ReadHeld(b.ctx, t, 3, 10, only)
		b.must(err)
		if len(held) != 1 || held[0].Event.Topic != "chosen" || held[0].Reason != outbox.Backoff {
			b.Errorf("held and chosen: %+v", held)
		}
		held, err = b.Store.Outbox().ReadHeld(b.ctx, t, 3, 10, rest)
		b.must(err)
		if len(held) != 2 {
			b.Errorf("held others: %+v", held)
		}
	})
}
