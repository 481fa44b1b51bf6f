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
	args := []any{"XGROUP", "CREATE", u.stream, u.o.Group, u.o.Start, "MKSTREAM"}
	if read, known := u.readBefore(ctx); known { // so that Redis counts what the group has read: see lost.lua
		args = append(args, "ENTRIESREAD", read)
	}
	err := u.client.Do(ctx, args...).Err()
	if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		return fmt.Errorf("make group %q of stream %q: %w", u.o.Group, u.stream, err)
	}
	return nil
}

// readBefore returns how many entries that were ever added are before Start.
func (u *subscription) readBefore(ctx context.Context) (n int64, known bool) {
	info, err := u.client.XInfoStream(ctx, u.stream).Result()
	switch {
	case err != nil:
		return 0, u.o.Start == "0" && goredis.HasErrorPrefix(err, "no such key")
	case u.o.Start == "0":
		return info.EntriesAdded - info.Length, true
	case u.o.Start == "$":
		return info.EntriesAdded, true
	}
	return 0, false
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
		if err := u.remove(ctx, c.Name); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the consumer of this name, if it has no pending entries.
func (u *subscription) remove(ctx context.Context, name string) error {
	if err := sweepScript.Run(ctx, u.client, []string{u.stream}, u.o.Group, name).Err(); err != nil {
		return fmt.Errorf("remove consumer %q of stream %q: %w", name, u.stream, err)
	}
	return nil
}
