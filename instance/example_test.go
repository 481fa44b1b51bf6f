package instance_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/store/sqlite"
)

// Which processes of a consumer run, which ended, and whether a person paused it. A
// Consumer writes its own row; a tool like headrace consumer ls reads them.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "instance")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "orders.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	instances, pauses := st.Operations().Instances, st.Operations().Pauses

	for _, host := range []string{"a", "b"} { // as a Consumer does when it runs
		if err := instances.Start(ctx, instance.Instance{ID: "1" + host, Consumer: "billing", Host: host}); err != nil {
			log.Fatal(err)
		}
	}
	if err := instances.End(ctx, "1a"); err != nil { // and when it has ended
		log.Fatal(err)
	}
	list, err := instances.List(ctx, "billing")
	if err != nil {
		log.Fatal(err)
	}
	states := make(map[string]string)
	for _, i := range list {
		switch {
		case !i.Ended.IsZero():
			states[i.Host] = "ended"
		case i.Dead(instance.Missed):
			states[i.Host] = "dead"
		default:
			states[i.Host] = "runs"
		}
	}
	fmt.Println(states)

	if _, err := pauses.Pause(ctx, instance.Pause{Consumer: "billing", By: "ana", Reason: "the bank is down"}); err != nil {
		log.Fatal(err)
	}
	p, err := pauses.Get(ctx, "billing")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Lasts(), p.By, p.Reason)
	// Output:
	// map[a:ended b:runs]
	// true ana the bank is down
}
