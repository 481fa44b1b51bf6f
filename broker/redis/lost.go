package redis

import (
	"context"
	_ "embed"
	"strconv"

	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

//go:embed lost.lua
var lostSource string

var lostScript = goredis.NewScript(lostSource)

// lookEvery is how many rounds of the claimer go by until it looks for lost entries.
const lookEvery = 5

// look says so if entries were removed from the stream before the group had read them. One
// process of the group does, once. While entries wait to be read it cannot be seen, unless
// the loss is right before the next one. What is lost around a restart of Redis is not said.
func (u *subscription) look(ctx context.Context) error {
	found, err := lostScript.Run(ctx, u.client, []string{u.stream}, u.o.Group, u.server).StringSlice()
	if err != nil || len(found) == 0 {
		return err
	}
	if u.server = found[0]; len(found) == 1 {
		return nil
	}
	n, err := strconv.ParseInt(found[1], 10, 64)
	if err != nil {
		return err
	}
	u.lost.Add(ctx, n, metric.WithAttributes(attribute.String("stream", u.stream), attribute.String("group", u.o.Group)))
	u.log.Warn("entries were removed from the stream before the group had read them", "entries", n, "after", found[2], "before", found[3])
	return nil
}
