package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/pgtest"
)

// TestMain is also the program whose process a test kills.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		if err := program(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// A process is killed again and again while mails share the answers of a model that never
// answers alike, wait for approvals and have refunds paid: by the stand-ins' own log each text
// has one answer, and nothing is done twice, lost, or done without approval.
//
//evidence:memo ledger
func TestKilled(t *testing.T) {
	kills := 15
	if testing.Short() {
		kills = 2
	}
	dsn, _ := pgtest.New(t)
	for name, args := range map[string][]string{"sqlite": nil, "postgres": {"-dsn", dsn}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var out bytes.Buffer
			args := append([]string{"-dir", dir, "-kills", strconv.Itoa(kills), "-n", strconv.Itoa(12 * (kills + 1))}, args...)
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
