package life

import (
	"flag"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// lasting is how long new runs are begun on each database; a third of it in the short form.
var lasting = flag.Duration("life.for", 10*time.Second, "how long to begin new lives, on each database")

func TestMain(m *testing.M) {
	flag.Parse()
	given := make(map[string]bool)
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	// The same lives each time, as many as there is time for. No file is left in the tree.
	for name, value := range map[string]string{"rapid.seed": "5", "rapid.checks": "1000000", "rapid.nofailfile": "true", "rapid.shrinktime": "60s"} {
		if !given[name] {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}
