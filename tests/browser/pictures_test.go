package browser

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
const most = 100 << 10

// A shop is the database of go run ./examples/orders -db shop.db -hold: the pictures show what a person who
// has just started it sees with go run ./cmd/headrace ui.
func TestPicturesOfTheExample(t *testing.T) {
	t.Parallel()
	pages := shop(t)
	b := open(t, bearing(tokenOf("ann")))
	b.do(narrow(1200))
	b.goTo(pages)
	b.says("Why messages fail")
	b.says("total_price: not an amount of money")
	b.picture("overview", "light")
	b.do(narrow(420))
	b.picture("overview-phone", "light")
	b.do(narrow(1200))
	b.click(`main tr:nth-child(2) a.btn`)
	b.says("8 open letters")
	b.picture("group-dark", "dark")
	b.click(`a[href*="/l/"]`)
	b.says("What happened")
	b.picture("letter", "light")
}

// shop makes that database, serves it to ann with the command, and returns the address.
func shop(t *testing.T) string {
	t.Helper()
	need(t, "HEADRACE_TEST_CHROMIUM")
	dir := t.TempDir()
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), "./examples/orders", "./cmd/headrace")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	started(t, exec.Command(filepath.Join(dir, "orders"), "-db", filepath.Join(dir, "shop.db"), "-hold"), "another terminal")
	ui := exec.Command(filepath.Join(dir, "headrace"), "ui", "--name", "sqlite:shop.db", "--listen", "127.0.0.1:0", "--tokens", tokenFile(t, ann))
	ui.Env = append(os.Environ(), "HEADRACE_DSN=sqlite:"+filepath.Join(dir, "shop.db"))
	return strings.TrimPrefix(started(t, ui, "http://"), "headrace: ")
}

// started starts a program, which ends with the test, and returns the first line on its stderr that has a text.
func started(t *testing.T, program *exec.Cmd, text string) string {
	t.Helper()
	said, err := program.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	t.Cleanup(func() {
		_ = program.Process.Signal(os.Interrupt)
		rest, _ := io.ReadAll(lines)
		if err := program.Wait(); err != nil {
			t.Errorf("%v\n%s", err, rest)
		}
	})
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v", program.Path, err)
		}
		if strings.Contains(line, text) {
			return strings.TrimSpace(line)
		}
	}
}

// What the example cannot show is a night as the path test walks it, an hour later.
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
	b.goTo(n.pages + n.group)
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

// smaller is a picture in fewer bytes, with 256 colours: a page has few, and shades at the edges of letters.
func smaller(shot []byte) ([]byte, error) {
	picture, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return nil, err
	}
	at, count := picture.Bounds(), make(map[color.RGBA]int)
	of := func(x, y int) color.RGBA { return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA) }
	for y := range at.Dy() {
		for x := range at.Dx() {
			count[of(x, y)]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return count[b] - count[a] })
	var colours color.Palette
	for i, c := range frequent {
		if len(colours) < 256 && (i < 32 || !slices.ContainsFunc(colours, func(have color.Color) bool { return alike(have.(color.RGBA), c) })) {
			colours = append(colours, c)
		}
	}
	nearest := make(map[color.RGBA]uint8, len(frequent))
	for _, c := range frequent {
		nearest[c] = uint8(colours.Index(c))
	}
	few := image.NewPaletted(at, colours)
	for y := range at.Dy() {
		for x := range at.Dx() {
			few.SetColorIndex(x, y, nearest[of(x, y)])
		}
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err = encoder.Encode(&b, few)
	return b.Bytes(), err
}

// alike reports whether a person would not tell two colours apart.
func alike(a, b color.RGBA) bool {
	far := func(x, y uint8) int { return (int(x) - int(y)) * (int(x) - int(y)) }
	return far(a.R, b.R)+far(a.G, b.G)+far(a.B, b.B) < 200
}

// picture shows a page in a theme, and writes what a person sees where pictures are asked for.
func (b *tab) picture(name, preferred string) {
	b.Helper()
	b.do(theme(preferred))
	ctx, cancel := context.WithTimeout(b.ctx, waitTimeout)
	defer cancel()
	height := run[int64](b, `document.querySelector("main").getBoundingClientRect().bottom | 0`)
	width := run[int64](b, `innerWidth`)
	b.do(call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: min(height-30, 1000), DeviceScaleFactor: 1}))
	shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.Fatal(err)
	}
	small, err := smaller(shot)
	if err != nil {
		b.Fatal(err)
	}
	if len(small) > most {
		b.Errorf("the picture %s has %d bytes, more than %d", name, len(small), most)
	}
	if *pictures == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), small, 0o644); err != nil {
		b.Fatal(err)
	}
}
