package storetest

import (
	"errors"
	"strings"

	"github.com/headrace/headrace/instance"
)

var pauseTests = []test{
	{name: "a pause lasts until it is resumed", run: pauseLasts},
	{name: "a pause that lasts is left as it is", run: pauseTwice},
	{name: "a name that no consumer can have is refused", run: pauseNames},
}

func (b *bundle) pauseOf(consumer string) instance.Pause {
	b.Helper()
	p, err := b.Store.Operations().Pauses.Get(b.ctx, consumer)
	b.must(err)
	return p
}

func pauseLasts(b *bundle) {
	pauses := b.Store.Operations().Pauses
	if p := b.pauseOf("billing"); p.Lasts() || p != (instance.Pause{}) {
		b.Errorf("never paused: %+v", p)
	}
	if was, err := pauses.Resume(b.ctx, "billing", "ana"); was || err != nil {
		b.Errorf("resume what is not paused: %t, %v", was, err)
	}
	if first, err := pauses.Pause(b.ctx, instance.Pause{Consumer: "billing", By: "ana", Reason: "a deploy\x00"}); !first || err != nil {
		b.Fatalf("%t, %v", first, err)
	}
	p := b.pauseOf("billing")
	if !p.Lasts() || p.By != "ana" || !strings.HasPrefix(p.Reason, "a deploy") || p.At.IsZero() {
		b.Errorf("%+v", p)
	}
	if other := b.pauseOf("shipping"); other.Lasts() {
		b.Errorf("another consumer: %+v", other)
	}
	if was, err := pauses.Resume(b.ctx, "billing", "ben"); !was || err != nil {
		b.Errorf("%t, %v", was, err)
	}
	if p := b.pauseOf("billing"); p.Lasts() || p.By != "ana" || p.ResumedBy != "ben" || p.Resumed.IsZero() {
		b.Errorf("resumed: %+v", p)
	}
}

func pauseTwice(b *bundle) {
	pauses := b.Store.Operations().Pauses
	for n, by := range []string{"ana", "ben"} {
		first, err := pauses.Pause(b.ctx, instance.Pause{Consumer: "billing", By: by, Reason: by})
		if b.must(err); first != (n == 0) {
			b.Errorf("pause by %s: %t", by, first)
		}
	}
	if p := b.pauseOf("billing"); p.By != "ana" || p.Reason != "ana" {
		b.Errorf("%+v", p)
	}
	_, err := pauses.Resume(b.ctx, "billing", "ana")
	b.must(err)
	if first, err := pauses.Pause(b.ctx, instance.Pause{Consumer: "billing", By: "ben"}); !first || err != nil {
		b.Errorf("paused again: %t, %v", first, err)
	}
	_, err = pauses.Pause(b.ctx, instance.Pause{Consumer: "audit", By: "ana"})
	b.must(err)
	list, err := pauses.List(b.ctx)
	b.must(err)
	if len(list) != 2 || list[0].Consumer != "audit" || !list[1].Lasts() || list[1].By != "ben" || list[1].ResumedBy != "" {
		b.Errorf("%+v", list)
	}
}

func pauseNames(b *bundle) {
	pauses := b.Store.Operations().Pauses
	for _, name := range []string{"", "a/b", strings.Repeat("x", 121), "nul\x00"} {
		if _, err := pauses.Pause(b.ctx, instance.Pause{Consumer: name}); !errors.Is(err, instance.ErrInvalid) {
			b.Errorf("%q: %v", name, err)
		}
		if was, err := pauses.Resume(b.ctx, name, ""); was || err != nil {
			b.Errorf("resume %q: %t, %v", name, was, err)
		}
	}
}
