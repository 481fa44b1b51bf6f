package redis

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

//go:embed sweep.lua
var sweepSource string

var sweepScript = goredis.NewScript(sweepSource)

// makeGroup makes the group, and an empty stream if there is none.
func (u *subscription) makeGroup(ctx context.Context) error {
	err := u.client.XGroupCreateMkStream(ctx, u.stream, u.o.Group, u.o.Start).Err()
	if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return fmt.Errorf("make group %q of stream %q: %w", u.o.Group, u.stream, err)
	}
	return nil
}

// groupGone reports that the stream was deleted, and the group with it.
func groupGone(err error) bool {
	return goredis.HasErrorPrefix(err, "NOGROUP") || goredis.HasErrorPrefix(err, "UNBLOCKED")
}

// sweep removes consumers without pending entries, whose name begins with prefix and that
// have been silent for that long. If a live one is removed it appears again with its next
// read.
func (u *subscription) sweep(ctx context.Context, prefix string, silent time.Duration) error {
	list, err := u.client.XInfoConsumers(ctx, u.stream, u.o.Group).Result()
	if err != nil {
		return fmt.Errorf("list the consumers of stream %q: %w", u.stream, err)
	}
	for _, c := range list {
		if c.Pending > 0 || c.Idle < silent || !strings.HasPrefix(c.Name, prefix) {
			continue
		}
		if err := sweepScript.Run(ctx, u.client, []string{u.stream}, u.o.Group, c.Name).Err(); err != nil {
			return fmt.Errorf("remove consumer %q of stream %q: %w", c.Name, u.stream, err)
		}
	}
	return nil
}
