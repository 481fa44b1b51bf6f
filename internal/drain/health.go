package drain

import "slices"

// pollFails stands for the poll among the shards.
const pollFails = -1

// health knows what fails, and reports the first failure and the last recovery.
type health struct {
	report  func(error)
	failing []int
}

// learn is told how a visit to part went.
func (h *health) learn(part int, err error) {
	at := slices.Index(h.failing, part)
	switch {
	case err == nil && at >= 0:
		h.failing = slices.Delete(h.failing, at, at+1)
		if len(h.failing) == 0 {
			h.report(nil)
		}
	case err != nil && at < 0:
		h.failing = append(h.failing, part)
		if len(h.failing) == 1 {
			h.report(err)
		}
	}
}

// settle is told which shards have work: one that failed and has none any more,
// because another process did it, is well.
func (h *health) settle(found []int) {
	for _, part := range slices.Clone(h.failing) {
		if !slices.Contains(found, part) {
			h.learn(part, nil)
		}
	}
}
