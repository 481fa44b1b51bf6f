package tour

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/store/sqlite"
)

// tables are the program's own.
const tables = "CREATE TABLE invoices (order_id TEXT, total INTEGER); CREATE TABLE mails (order_id TEXT)"

// File returns a new file for the database, in a directory that is kept.
func File() string {
	dir, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(dir, "shop.db")
}

// Stops are the parts of the program.
type Stops struct {
	Shop  http.Handler
	Store *sqlite.Store
	File  string // the database
	Run   func(context.Context) error
	Fix   func() // makes the failing handler right
}

// Run runs the consumer, an HTTP server and the tour beside them, and ends all three.
func Run(ctx context.Context, out io.Writer, s Stops) error {
	slog.SetLogLoggerLevel(slog.LevelWarn) // LevelInfo says more
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	if _, err := s.Store.DB().ExecContext(ctx, tables); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s.Shop, ReadHeaderTimeout: time.Minute}
	served, ended := make(chan error, 1), make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	go func() {
		defer stop() // a consumer that ends, ends the tour
		ended <- s.Run(ctx)
	}()
	v := visit{Stops: s, out: out, address: listener.Addr().String()}
	err = v.tour(ctx)
	v.client.CloseIdleConnections()
	stop()
	err = errors.Join(err, server.Close(), <-ended)
	<-served
	return err
}

type visit struct {
	Stops
	out     io.Writer
	address string
	client  http.Client
}

func (v *visit) tour(ctx context.Context) error {
	for _, useless := range [][2]string{{"", `{"id":"0","total":1}`}, {"payment-0", "junk"}} {
		if status, err := v.post(ctx, useless[0], useless[1]); err != nil || status != http.StatusBadRequest {
			return errors.Join(fmt.Errorf("%q is answered with %d", useless, status), err)
		}
	}
	v.say("A shop posts three orders. The second is the first one again, and the third fails.")
	for _, order := range []string{`{"id":"1","total":4200}`, `{"id":"1","total":4200}`, `{"id":"2","total":0}`} {
		key := "payment-" + order[len(`{"id":"`):strings.Index(order, `",`)]
		status, err := v.post(ctx, key, order)
		v.say("  POST /orders  Idempotency-Key: %s  %-24s %d", key, order, status)
		if err != nil || status != http.StatusOK {
			return errors.Join(errors.New("the request failed"), err)
		}
	}
	letters, err := v.wait(ctx, 1, 1)
	if err != nil {
		return err
	}
	v.say("Dead letter %d, after %d attempt: %s", letters[0].LetterID, letters[0].Attempts, letters[0].Error)
	v.say("\nThe handler is fixed, and the dead letter is redriven.")
	v.Fix()
	if _, err := redrive.New(v.Store).Redrive(ctx, redrive.Request{All: true, By: "quickstart", Reason: "the handler is fixed"}); err != nil {
		return err
	}
	if _, err := v.wait(ctx, 2, 0); err != nil {
		return err
	}
	v.say(next, v.File)
	return nil
}

func (v *visit) say(format string, args ...any) { _, _ = fmt.Fprintf(v.out, format+"\n", args...) }

func (v *visit) post(ctx context.Context, key, order string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+v.address+"/orders", strings.NewReader(order))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Idempotency-Key", key)
	answer, err := v.client.Do(r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// wait waits until each of done orders has an invoice and a mail, and says what there is.
func (v *visit) wait(ctx context.Context, done, dead int) ([]dlq.Letter, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var invoices, mails int
		err := v.Store.DB().QueryRowContext(ctx, `SELECT (SELECT count(*) FROM invoices), (SELECT count(*) FROM mails)`).Scan(&invoices, &mails)
		if err != nil {
			return nil, err
		}
		letters, err := redrive.New(v.Store).List(ctx, dlq.Filter{State: dlq.Open}, 0, 10)
		if err != nil {
			return nil, err
		}
		if invoices == done && mails == done && len(letters) == dead {
			v.say("Invoices %d, mails %d, dead letters %d.", invoices, mails, len(letters))
			return letters, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%d invoices, %d mails and %d dead letters, want %d, %d and %d: %w", invoices, mails, len(letters), done, done, dead, context.Cause(ctx))
		}
	}
}

// next is what to try next.
const next = `
What to try next:
  export HEADRACE_DSN=sqlite:%s
  go run ./cmd/headrace inbox show payment-2  # the order that failed at first
  go run ./cmd/headrace dlq show 1            # its dead letter, and who sent it again`
