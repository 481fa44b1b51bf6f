package consumer

import (
	"github.com/headrace/headrace/internal/group"
)

// GateOf returns what closes while the database does not take c's statements.
func GateOf(c *Consumer) *group.Gate { return c.gate }

// Hurry makes the instances of c beat, and look after each other, n times as often.
func Hurry(c *Consumer, n int) { c.inside().Hurry(n) }

// LeftBehind returns how many handlers of c were left behind and have not returned.
func LeftBehind(c *Consumer) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stuck
}
