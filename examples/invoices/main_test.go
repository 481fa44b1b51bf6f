package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/pgtest"
)

// TestMain is also the program whose processes a test kills.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "systems" || os.Args[1] == "worker") {
		if err := program(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// kills is how often the process is killed: 200 times in the whole form, as in make long, or
// as often as INVOICES_KILLS says.
func kills() string {
	switch n := os.Getenv("INVOICES_KILLS"); {
	case n != "":
		return n
	case testing.Short():
		return "4"
	}
	return "200"
}

// A process is killed again and again while its handler calls systems that fail: by the
// systems' own log nothing is done twice, and nothing is lost.
//
//evidence:ledger
func TestKilled(t *testing.T) {
	dsn, _ := pgtest.New(t)
	for name, args := range map[string][]string{"sqlite": nil, "postgres": {"-dsn", dsn}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var out bytes.Buffer
			kills := kills()
			args := append([]string{"-dir", dir, "-kills", kills, "-n", "4" + strings.Repeat("0", len(kills))}, args...)
			if err := program(t.Context(), args, &out, &out); err != nil {
				log, _ := os.ReadFile(dir + "/worker.log")
				t.Fatalf("%v\n%s\n%s", err, &out, log)
			}
			t.Log(out.String())
		})
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-n", "0"}, {"-kills", "-1"}, {"-faults", "1"}, {"left"}} {
		if err := program(t.Context(), args, new(bytes.Buffer), new(bytes.Buffer)); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
