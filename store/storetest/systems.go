package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
)

var systemTests = []test{
	{name: "a pause of a system is never shortened, and ends with a resume", run: systemPaused},
	{name: "a system is known by the steps that call it", run: systemKnown},
	{name: "a name that no system can have is refused", run: systemNames},
}

// pausedSystem pauses a system, and returns whether that was longer than before.
func (b *bundle) pausedSystem(name string, d time.Duration, by string) bool {
	b.Helper()
	changed, err := b.Store.Operations().Systems.Pause(b.ctx, ledger.SystemPause{System: name, Left: d, By: by, Reason: "because\x00"})
	b.must(err)
	return changed
}

//evidence:system-pause
func systemPaused(b *bundle) {
	systems := b.Store.Operations().Systems
	if was, err := systems.Resume(b.ctx, "bank", "ana"); was || err != nil {
		b.Errorf("resume what is not paused: %t, %v", was, err)
	}
	if !b.pausedSystem("bank", time.Hour, "ana") || b.pausedSystem("bank", time.Minute, "") || !b.pausedSystem("erp", time.Minute, "") {
		b.Error("a shorter pause counts, or a new one does not")
	}
	list, err := systems.List(b.ctx)
	if b.must(err); len(list) != 2 {
		b.Fatalf("%+v", list)
	}
	bank, erp := list[0], list[1]
	if bank.System != "bank" || bank.By != "ana" || !strings.HasPrefix(bank.Reason, "because") || bank.Left < 59*time.Minute || bank.Left > time.Hour ||
		bank.Until.Sub(bank.Changed).Round(time.Second) != time.Hour {
		b.Errorf("%+v", bank)
	}
	if erp.By != "" || erp.Left > time.Minute {
		b.Errorf("%+v", erp)
	}
	if !b.pausedSystem("erp", 2*time.Hour, "ben") {
		b.Error("a longer pause does not count")
	}
	if was, err := systems.Resume(b.ctx, "bank", "ben"); !was || err != nil {
		b.Errorf("%t, %v", was, err)
	}
	list, err = systems.List(b.ctx)
	if b.must(err); list[0].Left > 0 || list[0].By != "ben" || list[1].By != "ben" || list[1].Left <= time.Hour {
		b.Errorf("%+v", list)
	}
	if !b.pausedSystem("bank", time.Minute, "ana") {
		b.Error("it cannot be paused again")
	}
	var did []string // by people
	for _, r := range b.audit(audit.Filter{Kind: audit.System, Subject: "bank"}, 0, 10) {
		did = append(did, r.By+" "+r.Action+" "+r.Detail)
	}
	if want := []string{"ana pause for 1m0s", "ben resume ", "ana pause for 1h0m0s"}; !slices.Equal(did, want) {
		b.Errorf("the audit has %q, want %q", did, want)
	}
	if did := b.audit(audit.Filter{Kind: audit.System, Subject: "erp"}, 0, 10); len(did) != 1 || did[0].By != "ben" {
		b.Errorf("the audit has %+v", did)
	}
}

func systemKnown(b *bundle) {
	known := func(name string, want bool) {
		b.Helper()
		got, err := b.Store.Operations().Systems.Known(b.ctx, name)
		b.is(want, got, err)
	}
	b.pausedSystem("erp", time.Minute, "ana")
	known("erp", false)
	known("nul\x00", false)
	b.park("m", inbox.Waiting)
	b.markStep(stepOf("m", "charge"))
	known("erp", true)
	known("er", false)
}

func systemNames(b *bundle) {
	systems := b.Store.Operations().Systems
	for _, name := range []string{"", strings.Repeat("x", 129), "nul\x00"} {
		if _, err := systems.Pause(b.ctx, ledger.SystemPause{System: name, Left: time.Minute}); err == nil {
			b.Errorf("%q was taken", name)
		}
		if was, err := systems.Resume(b.ctx, name, ""); was || err != nil {
			b.Errorf("resume %q: %t, %v", name, was, err)
		}
	}
	for _, d := range []time.Duration{0, -time.Second, ledger.MaxPause + 1} {
		if _, err := systems.Pause(b.ctx, ledger.SystemPause{System: "bank", Left: d}); err == nil {
			b.Errorf("a pause of %s was taken", d)
		}
	}
}
