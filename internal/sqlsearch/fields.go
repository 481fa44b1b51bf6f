package sqlsearch

import (
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/sqlrun"
)

// LetterFields returns the destinations of a letter's columns.
func LetterFields(l *dlq.Letter) []any {
	d := &l.Delivery
	return []any{
		&l.LetterID, &l.State, &l.Class, &l.Consumer, &l.Handler, &d.Scope, &d.Key, &d.OrderKey, &l.Strict,
		&d.Fingerprint, &l.FirstFingerprint, &d.ID, &d.Topic, (*sqlrun.Blob)(&d.Payload), (*sqlrun.Headers)(&d.Metadata), sqlrun.Place(d),
		&d.Trace.Parent, &d.Trace.State, &l.Error, &l.ErrorFingerprint, sqlrun.JSON(&l.Chain), &l.Stack, &l.Attempts,
		(*sqlrun.Instant)(&l.FirstFailure), (*sqlrun.Instant)(&l.LastFailure), &l.PreviousID, &l.Redrives, &l.Host, &l.Build, &l.Environment,
		(*sqlrun.Instant)(&l.CreatedAt), (*sqlrun.Instant)(&l.ChangedAt), &d.ReplyTopic, &l.Deliveries,
		&l.Rev, (*sqlrun.Blob)(&l.Edit.Payload), (*sqlrun.Headers)(&l.Edit.Metadata),
	}
}

// GroupFields returns the destinations of a group's columns.
func GroupFields(g *dlq.Group) []any {
	return []any{&g.ErrorFingerprint, &g.Consumer, &g.Handler, &g.Class, &g.Count, (*sqlrun.Instant)(&g.First), (*sqlrun.Instant)(&g.Last), &g.Sample, &g.SampleID}
}
