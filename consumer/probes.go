package consumer

import (
	"fmt"
	"net/http"
	"strings"
)

// Probes returns a handler for the probes of an orchestrator such as Kubernetes: GET
// /readyz asks Ready of all consumers, GET /livez asks Alive. It answers 200 with "ok" and a
// line for each consumer that a person has paused, or 503 with what is missing, a line for
// each consumer; the lines name consumers, topics and the errors of database and broker. It
// may be mounted at "/" of a mux, and is safe for concurrent use.
//
// Let a liveness probe look at /livez only: an outage is no reason to restart a process.
func Probes(consumers ...*Consumer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", probe(consumers, (*Consumer).Ready))
	mux.Handle("GET /livez", probe(consumers, (*Consumer).Alive))
	return mux
}

func probe(consumers []*Consumer, ask func(*Consumer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var missing []string
		said := "ok\n"
		for _, c := range consumers {
			if err := ask(c); err != nil {
				missing = append(missing, fmt.Sprintf("%s: %v", c.Name(), err))
			}
			if p, paused := c.Paused(); paused {
				said += fmt.Sprintf("%s: paused by %s\n", c.Name(), p.By)
			}
		}
		if len(consumers) == 0 {
			missing = []string{"there is no consumer"}
		}
		w.Header().Set("Cache-Control", "no-store")
		if len(missing) > 0 {
			http.Error(w, strings.Join(missing, "\n"), http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(said))
	}
}
