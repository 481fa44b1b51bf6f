package sqs

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// result is the result of an entry of a batch request.
type result uint8

const (
	unknown result = iota // not done; it may be retried
	success
	refusal // it would be refused again
)

type results []result

// newResults sets the failed entries: an entry that a response does not mention is
// unknown.
func newResults(n int, failed []types.BatchResultErrorEntry) results {
	r := make(results, n)
	for _, e := range failed {
		if i, ok := r.index(e.Id); ok && e.SenderFault {
			r[i] = refusal
		}
	}
	return r
}

func (r results) done(id *string) {
	if i, ok := r.index(id); ok {
		r[i] = success
	}
}

func (r results) index(id *string) (int, bool) {
	if id == nil {
		return 0, false
	}
	i, err := strconv.Atoi(*id)
	return i, err == nil && i >= 0 && i < len(r)
}

// entry is the id of a batch's entry.
func entry(i int) *string {
	id := strconv.Itoa(i)
	return &id
}
