package sqlite

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzPath: the URI means the file of the path and no other, whatever stands in it.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"", "a.db", ":memory:", "x/:memory:", "file:a.db", "a?mode=memory", "a#b", "a%20b", "\x00", "../a", "é 🙂", "a;b&c=d", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		abs, err := absolute(path)
		if err != nil {
			return
		}
		u, err := url.Parse(uri(abs, "rw", pragmas(time.Second)...))
		if err != nil {
			t.Fatalf("%q: %v", path, err)
		}
		if u.Path != filepath.ToSlash(abs) || u.Host != "" || u.Fragment != "" || u.Query().Get("mode") != "rw" || len(u.Query()["_pragma"]) != 5 {
			t.Fatalf("%q is %+v", path, u)
		}
		if strings.Contains(u.Path, "\x00") {
			t.Fatalf("%q holds NUL", u.Path)
		}
	})
}
