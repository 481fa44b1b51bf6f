package main

import (
	"bytes"
	"testing"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), pgtest.NewDatabase(t), &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "20 orders, 20 invoices, 40 lines\n" {
		t.Error(got)
	}
}
