package sqlfile_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headrace/headrace/internal/sqlfile"
)

func TestNames(t *testing.T) {
	fsys := fstest.MapFS{
		"parts/now.sql":     {Data: []byte("-- The time.\n(clock()\n  + (SELECT shift FROM {{schema}}.clock))\n")},
		"queries/claim.sql": {Data: []byte("-- Takes it.\nSELECT {{now}}, {{now}} FROM {{schema}}.t")},
	}
	// What the user calls a schema is not looked at for tokens.
	names, err := sqlfile.ReadNames(fsys, "parts", `"{{now}}"`)
	if err != nil {
		t.Fatal(err)
	}
	now := `(clock() + (SELECT shift FROM "{{now}}".clock))`
	if names.Parts["now"] != now {
		t.Errorf("the time is %q", names.Parts["now"])
	}
	got, err := names.Load(fsys, "queries")
	if err != nil {
		t.Fatal(err)
	}
	if want := "-- Takes it.\nSELECT " + now + ", " + now + ` FROM "{{now}}".t`; got["claim"] != want {
		t.Errorf("got %q, want %q", got["claim"], want)
	}
}

func TestNamesRefuse(t *testing.T) {
	names := sqlfile.Names{Schema: "main", Parts: map[string]string{"now": "now()"}}
	for _, text := range []string{"SELECT {{table}}", "SELECT {{now}", "SELECT {now}}", "{{ now }}", "{{now}}}}"} {
		if got, err := names.Substitute(text); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got, err := (sqlfile.Names{Schema: "main"}).Substitute("SELECT {{now}}"); err == nil {
		t.Errorf("without an expression for the time it became %q", got)
	}
	for name, text := range map[string]string{"other token": "-- x\n{{table}}", "itself": "-- x\n{{now}}"} {
		if _, err := sqlfile.ReadNames(fstest.MapFS{"parts/now.sql": {Data: []byte(text)}}, "parts", "main"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := sqlfile.ReadNames(fstest.MapFS{}, "parts", "main"); err == nil {
		t.Error("no file: no error")
	}
}

func TestSet(t *testing.T) {
	set := sqlfile.NewSet(map[string]string{"inbox_claim": "a", "inbox_claim_lost": "b", "ping": "c", "old": "d"})
	var sql struct {
		Claim, ClaimLost string

		AddAttempts string `sql:"optional"`
	}
	set.Fill("inbox", &sql)
	if sql.Claim != "a" || sql.ClaimLost != "b" || sql.AddAttempts != "" {
		t.Errorf("%+v", sql)
	}
	if got := set.Get("ping"); got != "c" {
		t.Errorf("ping is %q", got)
	}
	if unused := set.Unused(); !slices.Equal(unused, []string{"old"}) {
		t.Errorf("unused: %q", unused)
	}
	if len(set.All()) != 4 {
		t.Errorf("%q", set.All())
	}
	for name, ask := range map[string]func(){
		"Get":  func() { set.Get("none") },
		"Fill": func() { set.Fill("inbox", &struct{ Find string }{}) },
	} {
		func() {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.Contains(s, "no statement") {
					t.Errorf("%s did not panic as it should: %q", name, s)
				}
			}()
			ask()
		}()
	}
}
