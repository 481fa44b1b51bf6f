package nats

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/go-cmp/cmp"
	natsgo "github.com/nats-io/nats.go"
)

// TRAPS, nats/v2: UUID "", Nats-Msg-Id dropped, a panic on a header with two values. Guard:
// unmarshal.
func TestUnmarshal(t *testing.T) {
	for name, c := range map[string]struct {
		header   natsgo.Header
		id       string
		metadata message.Metadata
	}{
		"nothing":          {nil, "", message.Metadata{}},
		"Watermill's":      {natsgo.Header{uuidHeader: {"u"}, "a": {"b"}}, "u", message.Metadata{"a": "b"}},
		"the sender's":     {natsgo.Header{natsgo.MsgIdHdr: {"m"}}, "m", message.Metadata{natsgo.MsgIdHdr: "m"}},
		"both":             {natsgo.Header{uuidHeader: {"u"}, natsgo.MsgIdHdr: {"m"}}, "u", message.Metadata{natsgo.MsgIdHdr: "m"}},
		"empty Watermill":  {natsgo.Header{uuidHeader: {""}, natsgo.MsgIdHdr: {"m"}}, "m", message.Metadata{uuidHeader: "", natsgo.MsgIdHdr: "m"}},
		"two of Watermill": {natsgo.Header{uuidHeader: {"u", "v"}}, "", message.Metadata{uuidHeader: "u\nv"}},
		"two values":       {natsgo.Header{"a": {"b", "c"}}, "", message.Metadata{"a": "b\nc"}},
		"no value":         {natsgo.Header{"a": nil}, "", message.Metadata{"a": ""}},
		"not UTF-8":        {natsgo.Header{"a": {"\xff"}}, "", message.Metadata{"a": "base64:/w=="}},
		"ours, forged":     {natsgo.Header{restHeader: {"{"}}, "", message.Metadata{restHeader: "{"}},
	} {
		t.Run(name, func(t *testing.T) {
			id, metadata := unmarshal(c.header)
			if id != c.id {
				t.Errorf("id %q, want %q", id, c.id)
			}
			if diff := cmp.Diff(c.metadata, metadata); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// INVARIANTS 14: what is marshaled comes back, and is no command to the server.
func TestMarshalRoundTrip(t *testing.T) {
	metadata := message.Metadata{
		"plain": "value", "empty": "", "lines": "a\nb", "spaces": " a ", "a b": "c", "a:b": "c", "": "x", "Ключ": "ключ",
		"Nats-Rollup": "all", "nats-ttl": "1s", natsgo.MsgIdHdr: "forged", uuidHeader: "forged", restHeader: "[]", "Status": "503",
	}
	m := message.NewMessage("u", []byte("x"))
	m.Metadata = metadata
	record := marshal("s", m)
	for name := range record.Header {
		switch name {
		case "plain", "empty", uuidHeader, restHeader, natsgo.MsgIdHdr:
		default:
			t.Errorf("header %q", name)
		}
	}
	id, got := unmarshal(record.Header)
	if id != "u" {
		t.Errorf("id %q", id)
	}
	if diff := cmp.Diff(metadata, got); diff != "" {
		t.Error(diff)
	}
	again, other := marshal("s", m), marshal("s.dead", m)
	if diff := cmp.Diff(record.Header, again.Header); diff != "" {
		t.Errorf("a repetition differs: %s", diff)
	}
	if record.Header.Get(natsgo.MsgIdHdr) == other.Header.Get(natsgo.MsgIdHdr) {
		t.Error("in one stream, the copy of a dead letter would be dropped as a repetition of its event")
	}
}

func TestConsumerNamesDiffer(t *testing.T) {
	names := map[string]string{}
	for _, topic := range []string{"a.b", "a_b", "a-b", "a.*", "a.>", "ä", "a b", "a/b", "a._b", "a_.b"} {
		name := consumerName("d", topic)
		if !plainName(name) {
			t.Errorf("%q gives %q", topic, name)
		}
		if other, taken := names[name]; taken {
			t.Errorf("%q and %q are both %q", topic, other, name)
		}
		names[name] = topic
	}
}
