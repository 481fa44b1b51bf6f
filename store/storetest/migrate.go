package storetest

import (
	"sync"
	"testing"

	"github.com/headrace/headrace/store"
)

// migrateTests work on stores that Harness.Empty makes.
var migrateTests = []struct {
	name string
	run  func(*testing.T, Harness)
}{
	{"each migration is applied once, in order", migrateOnce},
	{"two at once apply each migration once", migrateAtOnce},
}

// wantAll fails the test unless list is every version from 1, applied.
func wantAll(t *testing.T, what string, list []store.Migration) {
	t.Helper()
	if len(list) == 0 {
		t.Fatalf("%s: no migrations", what)
	}
	for i, m := range list {
		if m.Version != i+1 || m.Name == "" || m.SQL == "" || !m.Applied {
			t.Errorf("%s: migration %d is %d_%s, applied %t", what, i+1, m.Version, m.Name, m.Applied)
		}
	}
}

func migrateOnce(t *testing.T, h Harness) {
	one, two := h.Empty(t)
	known, err := one.Migrations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range known {
		if m.Applied {
			t.Errorf("migration %d is applied to an empty database", m.Version)
		}
	}
	applied, err := one.Migrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, "applied", applied)
	if len(applied) != len(known) {
		t.Errorf("%d migrations applied of %d", len(applied), len(known))
	}
	for _, m := range []store.Migrator{one, two} {
		again, err := m.Migrate(t.Context())
		if err != nil || len(again) != 0 {
			t.Errorf("an up-to-date database: %d migrations applied, %v", len(again), err)
		}
		list, err := m.Migrations(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantAll(t, "listed", list)
	}
}

func migrateAtOnce(t *testing.T, h Harness) {
	one, two := h.Empty(t)
	var mu sync.Mutex
	times := make(map[int]int)
	var wait sync.WaitGroup
	for _, m := range []store.Migrator{one, two, one, two} {
		wait.Go(func() {
			applied, err := m.Migrate(t.Context())
			if err != nil {
				t.Errorf("Migrate: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, a := range applied {
				times[a.Version]++
			}
		})
	}
	wait.Wait()
	list, err := two.Migrations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, "listed", list)
	for _, m := range list {
		if times[m.Version] != 1 {
			t.Errorf("migration %d was applied %d times", m.Version, times[m.Version])
		}
	}
}
