package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
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

// nights is how many nights there are: 15 in the whole form, as in make long, or as many as
// NIGHTLY_NIGHTS says.
func nights() string {
	switch n := os.Getenv("NIGHTLY_NIGHTS"); {
	case n != "":
		return n
	case testing.Short():
		return "2"
	}
	return "15"
}

// Webhooks are dropped, come late, and are not heard while the process is killed, which is
// killed while it compares too: by the shop's books each order is booked once.
//
//evidence:reconcile
func TestKilled(t *testing.T) {
	dsn, _ := pgtest.New(t)
	for name, args := range map[string][]string{"sqlite": nil, "postgres": {"-dsn", dsn}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var out bytes.Buffer
			if err := program(t.Context(), append([]string{"-dir", dir, "-nights", nights()}, args...), &out, &out); err != nil {
				log, _ := os.ReadFile(dir + "/worker.log")
				t.Fatalf("%v\n%s\n%s", err, &out, log)
			}
			t.Log(out.String())
		})
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-n", "0"}, {"-nights", "0"}, {"left"}} {
		if err := program(t.Context(), args, new(bytes.Buffer), new(bytes.Buffer)); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
