package consumer

import "github.com/headrace/headrace/internal/breaker"

// BreakerOf returns what opens while the database does not take c's statements.
func BreakerOf(c *Consumer) *breaker.Breaker { return c.rt.Breaker }

// MarkingOf reports whether c marks messages before they run.
func MarkingOf(c *Consumer) bool { return c.rt.Marking() }

// Hurry makes the instances of c beat, and look after each other, n times as often.
func Hurry(c *Consumer, n int) { c.rt.Hurry(n) }

// LeftBehind returns how many handlers of c were left behind and have not returned.
func LeftBehind(c *Consumer) int { return c.rt.LeftBehind() }
