package schedule_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/schedule"
	"github.com/headrace/headrace/store/sqlite"
)

// A report each night at half past two, by the clocks of Berlin. Here a person asks for one
// now.
func Example() {
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(context.Background(), filepath.Join(dir, "shop.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if _, err := st.DB().Exec("CREATE TABLE reports (day TEXT)"); err != nil {
		log.Fatal(err)
	}
	ticks, err := schedule.NewSource(st, schedule.Options{Schedules: []schedule.Schedule{
		{Name: "report", Cron: "30 2 * * *", Zone: "Europe/Berlin"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = ticks.Close() }()
	c, err := consumer.New("reports", st, consumer.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	schedule.Handle(c, ticks, "report", func(ctx context.Context, tx *headrace.Tx, t schedule.Tick) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO reports (day) VALUES ($1)", t.At.Format(time.DateOnly))
		return err
	})

	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for fired := false; !fired && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		fired = schedule.Fire(ctx, st, "report", "example") == nil // as headrace schedule fire does
	}
	rows := 0
	for ; rows == 0 && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		_ = st.DB().QueryRow("SELECT count(*) FROM reports").Scan(&rows)
	}
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	fmt.Println(rows, "report")
	// Output: 1 report
}
