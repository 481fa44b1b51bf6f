package consumertest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/inbox"
)

// dated puts the present time into the key.
func dated(layout string) inbox.KeyFunc {
	return inbox.Join(func(*headrace.Delivery) (string, error) { return time.Now().Format(layout), nil }, inbox.JSON("id"))
}

// ofClock are keys that are the same for as long as a test runs, nearly always.
var ofClock = map[string]inbox.KeyFunc{
	"minute": dated("2006-01-02T15:04"), "day": dated("2006-01-02"), "year": dated("2006"), "month": dated("01"),
	"weekday":   dated("Monday"),
	"timestamp": func(*headrace.Delivery) (string, error) { return time.Now().Truncate(24 * time.Hour).String(), nil },
	"expired": func(d *headrace.Delivery) (string, error) {
		if time.Now().Year() > 2030 {
			panic("it has expired")
		}
		return inbox.JSON("id")(d)
	},
}

const wrongClocks = "HEADRACE_TEST_WRONG_CLOCKS"

// TestWrongClocks fails: TestKeysOfTheClockAreFound runs it in a process of its own,
// since only a real *testing.T has a bubble.
func TestWrongClocks(t *testing.T) {
	if os.Getenv(wrongClocks) == "" {
		return
	}
	for name, key := range ofClock {
		t.Run(name, func(t *testing.T) { consumertest.StableKey(t, key, fromShop) })
	}
	t.Run("fingerprint", func(t *testing.T) {
		consumertest.StableFingerprint(t, inbox.FingerprintFunc(dated("2006-01-02")), fromShop)
	})
}

// A key with the clock in it is another one tomorrow.
func TestKeysOfTheClockAreFound(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestWrongClocks$", "-test.v")
	cmd.Env = append(os.Environ(), wrongClocks+"=yes")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("it passed")
	}
	for name := range ofClock {
		says(t, string(out), "--- FAIL: TestWrongClocks/"+name)
	}
	says(t, string(out), "--- FAIL: TestWrongClocks/fingerprint", "the fingerprint is not stable", "called at another time (20", "leave the clock out")
	// One that has the minute may have another one by itself.
	if n, want := strings.Count(string(out), " is not stable: called "), len(ofClock)+1; n != want {
		t.Errorf("it was found %d times, want %d:\n%s", n, want, out)
	}
}

// Where there is no clock to move StableKey says so, and does no harm.
func TestKeysWithoutAClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		consumertest.StableKey(t, inbox.JSON("id"), fromShop)
		if took := time.Since(began); took != 0 {
			t.Errorf("the clock of the test's own bubble moved by %s", took)
		}
	})
	t.Run("cleanup", func(t *testing.T) {
		t.Cleanup(func() { consumertest.StableKey(t, inbox.JSON("id"), fromShop) })
	})
	t.Run("goroutine", func(t *testing.T) {
		stop := make(chan struct{})
		defer close(stop)
		consumertest.StableKey(t, func(d *headrace.Delivery) (string, error) {
			go func() { <-stop }()
			return inbox.JSON("id")(d)
		}, fromShop)
	})
	t.Run("parallel", func(t *testing.T) {
		t.Parallel()
		consumertest.StableKey(t, inbox.JSON("id"), fromShop)
	})
}
