package consumer

import "time"

// Hurry makes the instances of c beat, and look after each other, n times as often.
func Hurry(c *Consumer, n int) {
	for _, d := range []*time.Duration{&c.pace.look, &c.pace.beat, &c.pace.missed, &c.pace.most} {
		*d /= time.Duration(n)
	}
}
