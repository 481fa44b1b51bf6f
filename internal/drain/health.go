package drain

import "slices"

// pollFails is the number of the poll in failing, where others are shards.
const pollFails = -1

// health records what fails, and reports each failure and the last recovery.
type health struct {
	report  func(error)
	failing []int
}

// learn records the result of a visit to part.
func (h *health) learn(part int, err error) {
	at := slices.Index(h.failing, part)
	switch {
	case err == nil && at >= 0:
		h.failing = slices.Delete(h.failing, at, at+1)
		if len(h.failing) == 0 {
			h.report(nil)
		}
	case err != nil:
		if at < 0 {
			h.failing = append(h.failing, part)
		}
		h.report(err)
	}
}

// settle takes the shards that have work: a shard that failed and has no more work,
// because another process did it, has recovered.
func (h *health) settle(found []int) {
	for _, part := range slices.Clone(h.failing) {
		if !slices.Contains(found, part) {
			h.learn(part, nil)
		}
	}
}
