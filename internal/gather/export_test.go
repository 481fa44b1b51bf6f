package gather

// Waiting is how many callers wait.
func (g *Gatherer[T]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue)
}
