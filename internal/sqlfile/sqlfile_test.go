package sqlfile_test

import (
	"testing"
	"testing/fstest"

	"github.com/headrace/headrace/internal/sqlfile"
)

func TestLoad(t *testing.T) {
	fsys := fstest.MapFS{
		"queries/claim.sql": {Data: []byte("-- Takes\n--  it.\nSELECT 1 FROM {{schema}}.t, {{schema}}.u")},
		"queries/README.md": {Data: []byte("{{other}}")},
	}
	got, err := sqlfile.Load(fsys, "queries", `"a{{b"`)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 {
		t.Errorf("%d statements, want 1", len(got))
	}
	// The schema's name is not looked at for tokens: it is the user's.
	want := "-- Takes\n--  it.\nSELECT 1 FROM \"a{{b\".t, \"a{{b\".u"
	if s := sqlfile.Get(got, "claim"); s != want {
		t.Errorf("got %q, want %q", s, want)
	}
	if says := sqlfile.Says(got["claim"]); says != "Takes it." {
		t.Errorf("Says = %q", says)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, fsys := range map[string]fstest.MapFS{
		"nothing":     {},
		"other token": {"queries/claim.sql": {Data: []byte("SELECT {{table}}")}},
	} {
		if _, err := sqlfile.Load(fsys, "queries", "main"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestGetPanicsAtConstruction(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	sqlfile.Get(nil, "claim")
}

func TestBare(t *testing.T) {
	for text, want := range map[string]string{"-- a\n-- b\nSELECT 1; -- c\nCOMMIT\n": "SELECT 1; -- c\nCOMMIT", "SELECT 1": "SELECT 1", "--": "", "": ""} {
		if got := sqlfile.Bare(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
