package redis

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	goredis "github.com/redis/go-redis/v9"
)

// whole returns the fields, names and values in turn, of those entries that repeat one.
// go-redis makes a map of an entry, with only the last value of a repeated field. So
// whole reads entries that are not Watermill's again, by claiming them from ourselves:
// that is one request, goes to the master, and needs the same permission as a beat.
func (u *subscription) whole(entries []goredis.XMessage) (map[string][]string, error) {
	args := []any{"XCLAIM", u.stream, u.o.Group, u.o.Name, 0}
	shown := map[string]int{} // fields, by id
	for i := range entries {
		if e := &entries[i]; !watermills(e.Values) {
			args = append(args, e.ID)
			shown[e.ID] = len(e.Values)
		}
	}
	if len(shown) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(u.settling, requestTime)
	defer cancel()
	answer, err := u.client.Do(ctx, args...).Slice()
	switch {
	case groupGone(err) || goredis.HasErrorPrefix(err, "NOPERM"):
		return nil, nil // use the fields that go-redis shows
	case err != nil:
		return nil, err
	}
	repeating := map[string][]string{}
	for _, one := range answer {
		if id, fields := fieldsOf(one); len(fields) > 2*shown[id] {
			repeating[id] = fields
		}
	}
	return repeating, nil
}

// watermills reports whether an entry has the three fields that Watermill's sink writes,
// and beside them at most those that ours adds.
func watermills(values map[string]any) bool {
	_, id := values[UUIDField]
	_, metadata := values[MetadataField]
	_, payload := values[PayloadField]
	more := 0
	for _, name := range plain {
		if _, has := values[name]; has {
			more++
		}
	}
	return id && metadata && payload && len(values) == 3+more
}

// fieldsOf reads an entry of an answer; it returns none for a deleted one.
func fieldsOf(answer any) (id string, fields []string) {
	entry, _ := answer.([]any)
	if len(entry) < 2 {
		return "", nil
	}
	id, _ = entry[0].(string)
	list, _ := entry[1].([]any)
	for _, v := range list {
		s, _ := v.(string)
		fields = append(fields, s)
	}
	return id, fields
}

var errRepeated = errors.New("the entry has the field payload, metadata or " + UUIDField + " more than once")

// readRepeating makes a message of an entry that repeats fields: a line for each value.
// If it is ambiguous, the message is unreadable, and its payload is all fields as JSON.
func readRepeating(fields []string, scalars bool) (*message.Message, error) {
	values := map[string]any{}
	for i := 0; i+1 < len(fields); i += 2 {
		name, value := fields[i], fields[i+1]
		before, repeated := values[name].(string)
		switch {
		case !repeated:
			values[name] = value
		case name == PayloadField || name == MetadataField || name == UUIDField:
			return message.NewMessage("", listed(fields)), errRepeated
		default:
			values[name] = before + "\n" + value
		}
	}
	return read(values, scalars), nil
}

// listed returns [["name","value"],…]; values that are not text become base64:….
func listed(fields []string) []byte {
	list := [][2]string{}
	for i := 0; i+1 < len(fields); i += 2 {
		list = append(list, [2]string{textOf(fields[i]), textOf(fields[i+1])})
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(list) // text always has a JSON form
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

func textOf(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return "base64:" + base64.StdEncoding.EncodeToString([]byte(s))
}
