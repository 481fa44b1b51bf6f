package group

// staleTogether takes those failures out that only say "stale", and returns each of
// their tasks to be run alone, after the others. What such a task was compared with
// may be what a neighbour wrote in the same transaction, which is rolled back: a
// verdict on that word would skip a message although nothing newer is ever applied,
// where the neighbour then fails. Alone, it is compared with what is committed.
func staleTogether(tasks []*Task, failures []failure) (rest []failure, doubtful []unit) {
	if len(tasks) == 1 {
		return failures, nil
	}
	for _, f := range failures {
		if f.isStale() {
			doubtful = append(doubtful, unit{tasks: []*Task{f.task}})
			continue
		}
		rest = append(rest, f)
	}
	return rest, doubtful
}
