package sqlstore

import (
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/sqlrun"
)

// itemColumns are the columns of new rows.
func itemColumns(items []backlog.Item) []any {
	type item = backlog.Item
	together := shard.Next(time.Now(), len(items))
	shardOf := func(i *item) int {
		if i.Delivery.OrderKey == "" && !i.Spread {
			return together
		}
		return shard.Of(i.Delivery.OrderKey)
	}
	return []any{
		sqlrun.Texts(items, func(i *item) string { return i.Consumer }),
		sqlrun.Numbers(items, func(i *item) int64 { return int64(shardOf(i)) }),
		sqlrun.Numbers(items, func(i *item) int64 { return sqlrun.Micros(i.Delay) }),
		sqlrun.Texts(items, func(i *item) string { return i.Handler }),
		sqlrun.Texts(items, func(i *item) string { return i.Delivery.Scope }),
		sqlrun.Texts(items, func(i *item) string { return i.Delivery.Key }),
		sqlrun.Texts(items, func(i *item) string { return i.Delivery.OrderKey }),
		sqlrun.Column(items, func(i *item) bool { return i.Strict }),
		sqlrun.Texts(items, func(i *item) string { return i.Delivery.Fingerprint }),
		sqlrun.Named(items, func(i *item) string { return i.Delivery.ID }),
		sqlrun.Named(items, func(i *item) string { return i.Delivery.Topic }),
		sqlrun.Column(items, func(i *item) []byte { return i.Delivery.Payload }),
		sqlrun.Column(items, func(i *item) []byte { return encode.Metadata(i.Delivery.Metadata) }),
		sqlrun.Texts(items, func(i *item) string { return sqlrun.Coordinates(&i.Delivery) }),
		sqlrun.Texts(items, func(i *item) string { return sqlrun.Trace(i.Delivery.Trace.Parent) }),
		sqlrun.Texts(items, func(i *item) string { return sqlrun.Trace(i.Delivery.Trace.State) }),
		sqlrun.Numbers(items, func(i *item) int64 { return int64(i.Delivery.Attempt) }),
		sqlrun.Numbers(items, func(i *item) int64 { return int64(i.Spent) }),
		sqlrun.Numbers(items, func(i *item) int64 { return int64(i.Reruns) }),
		sqlrun.Numbers(items, func(i *item) int64 { return sqlrun.Micros(i.Postponed) }),
		sqlrun.Texts(items, func(i *item) string { return encode.Text(i.Reason, sqlrun.MaxError) }),
		sqlrun.Numbers(items, func(i *item) int64 { return i.LetterID }),
		sqlrun.Numbers(items, func(i *item) int64 { return int64(i.Redrives) }),
		sqlrun.Named(items, func(i *item) string { return i.Delivery.ReplyTopic }),
		sqlrun.Texts(items, func(i *item) string { return i.ErrorFingerprint }),
	}
}

// itemFields returns the destinations of a row's columns.
func itemFields(i *backlog.Item) []any {
	d := &i.Delivery
	return []any{
		&i.RowID, &i.Place, &i.Handler, &d.Scope, &d.Key, &d.OrderKey, &i.Strict, &d.Fingerprint, &d.ID, &d.Topic,
		(*sqlrun.Blob)(&d.Payload), (*sqlrun.Headers)(&d.Metadata), sqlrun.Place(d), &d.Trace.Parent, &d.Trace.State,
		&d.Attempt, &i.Spent, &i.Reruns, (*sqlrun.Span)(&i.Postponed), &i.LetterID, &i.Redrives, &d.ReplyTopic,
	}
}
