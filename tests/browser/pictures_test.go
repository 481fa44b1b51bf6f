package browser

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

var pictures = flag.String("pictures", "", "write the pictures of the docs into this `folder`")

// most is how many bytes a picture of the docs has at most.
const most = 150 << 10

// The pictures of the docs are those of a night as the path test walks it, an hour later.
func TestPictures(t *testing.T) {
	t.Parallel()
	n := newNight(t, tokens(t, ann))
	n.run("v1.8.0", func(o paid) error {
		switch {
		case o.Total < -2000:
			return retry.Permanent(errors.New(`call tax service: unknown currency "XBT"`))
		case o.Total < 0:
			return retry.Permanent(errors.New(`insert invoice: pq: new row for relation "invoices" violates check constraint "invoices_total_positive"`))
		}
		return nil
	})
	n.deliver("shop-7:order:1049101", -4200, nil)
	for i := range 14 {
		n.deliver(fmt.Sprintf("shop-%d:order:10492%02d", i%4, i), -1250, nil)
	}
	n.older()
	list, err := n.st.Operations().Groups.List(t.Context(), groups.Filter{})
	if err != nil || len(list) != 2 {
		t.Fatalf("%d groups: %v", len(list), err)
	}
	for _, g := range list {
		if g.Open > 1 {
			n.group = "/g/" + g.ErrorFingerprint
		}
	}
	n.run("v1.8.1", func(paid) error { return nil })

	b := open(t, bearing(tokenOf("ann")))
	b.do(narrow(1200))
	b.goTo(n.pages + "/")
	b.picture("overview", "light")
	b.do(narrow(420))
	b.picture("overview-phone", "light")
	b.do(narrow(1200))
	b.goTo(n.pages + n.group)
	b.picture("group-dark", "dark")
	b.rehearse()
	b.click(planIt)
	b.write(reason, "credit notes fixed in v1.8.1, INC-412")
	b.picture("plan", "light")
}

// older moves what has happened so far some hours into the past: counters, and what is shown of letters.
func (n *night) older() {
	n.Helper()
	n.eventually("all letters are counted", func() bool {
		var changes int
		err := store.Transact(n.Context(), n.st, func(t *txn.Txn) error {
			return t.QueryRowContext(n.Context(), "SELECT count(*) FROM headrace_letter_changes").Scan(&changes)
		})
		return err == nil && changes == 0
	})
	const hour = "3600000000"
	for _, sql := range []string{
		"UPDATE headrace_group_hours SET hour = hour - 2 * " + hour + ", first_at = first_at - 2 * " + hour,
		"UPDATE headrace_conditions SET since = since - 2 * " + hour,
		"UPDATE headrace_groups SET state_at = state_at - 2 * " + hour + ", first_at = first_at - 2 * " + hour + ", last_at = last_at - " + hour,
		"UPDATE headrace_builds SET first_at = first_at - 3 * " + hour,
		"UPDATE headrace_dead_letters SET created_at = created_at - " + hour + ", changed_at = changed_at - " + hour,
		"UPDATE headrace_attempts SET at = at - " + hour,
	} {
		n.effect(sql)
	}
}

// picture shows a page in a theme, and writes what a person sees where pictures are asked for.
func (b *tab) picture(name, preferred string) {
	b.Helper()
	b.do(theme(preferred))
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	height := run[int64](b, `document.querySelector("main").getBoundingClientRect().bottom | 0`)
	width := run[int64](b, `innerWidth`)
	b.do(call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: min(height-30, 1100), DeviceScaleFactor: 1}))
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	if len(png) > most {
		b.Errorf("the picture %s has %d bytes, more than %d", name, len(png), most)
	}
	if *pictures == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), png, 0o644); err != nil {
		b.Fatal(err)
	}
}
