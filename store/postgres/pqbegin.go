package postgres

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/headrace/headrace/store/txn"
)

// This file has BEGIN of the store's own connections travel with the claim of one message, in one simple query:
// if BEGIN fails, the server skips the claim. lib/pq sends no arguments with such a query. So the claim is a
// statement that PREPARE has named in the session, and its arguments are literals of EXECUTE.

const (
	// beginText is what lib/pq sends for the options of Store.Begin.
	beginText = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	// idleTime is after how long without use BEGIN travels alone: a server that restarted leaves connections that
	// have ended, and Begin takes another one for those.
	idleTime = time.Second
)

// preparedClaim is the claim as a statement of the session.
type preparedClaim struct {
	query string // "" if nothing is prepared
	// name is made from query: a pooler may give the session of one program to another.
	name string
}

func newPreparedClaim(query string) preparedClaim {
	return preparedClaim{query, fmt.Sprintf("headrace_claim_%x", sha256.Sum256([]byte(query)))[:32]}
}

// pqBegin is a BEGIN that may wait for the first statement.
type pqBegin struct {
	waits    bool
	pays     bool      // the last transaction began with the claim of one message
	failed   error     // why it, or what travelled with it, has not worked
	used     time.Time // when the last transaction ended
	prepared time.Time // when the claim was; zero if it is not
	refused  bool      // the claim cannot be prepared, or the session loses it
}

// later reports whether BEGIN may wait for the first statement.
func (c *pqConn) later(ctx context.Context, o driver.TxOptions) bool {
	return ctx.Value(lateBegin{}) != nil && c.begin.pays && !c.begin.refused && time.Since(c.begin.used) < c.from.idle &&
		sql.IsolationLevel(o.Isolation) == sql.LevelReadCommitted && !o.ReadOnly
}

// Begun sends BEGIN if that waits for the first statement.
func (c *pqConn) Begun() error {
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	return c.begun(ctx)
}

func (c *pqConn) begun(ctx context.Context) error {
	if !c.begin.waits {
		return nil
	}
	if c.begin.failed != nil {
		return fmt.Errorf("the transaction could not be begun: %w", c.begin.failed)
	}
	_, err := c.pqDriver.ExecContext(ctx, c.from.begin, nil)
	c.begin.pays, c.begin.failed, c.begin.waits = false, err, err != nil
	return err
}

// end ends the wait, and what is known of the transaction. It reports whether the transaction was begun; failed
// says that it may have been, and that nothing else was to run in it.
func (c *pqConn) end() (begun, failed bool) {
	begun, failed = !c.begin.waits, c.begin.failed != nil
	c.last, c.begin.waits, c.begin.failed, c.begin.used = nil, false, nil, time.Now()
	return begun, failed
}

// claim runs the claim if query is it, in one message with BEGIN if that waits; else ok is false. If it fails,
// nothing else runs in the transaction.
func (c *pqConn) claim(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, ok bool, err error) {
	b := &c.begin
	if query != c.from.claim.query || b.refused || b.failed != nil {
		return nil, false, nil
	}
	b.pays = true
	if err := c.prepareClaim(ctx); err != nil {
		return nil, !b.waits, err // if BEGIN waits, nothing is lost
	}
	text := "EXECUTE " + c.from.claim.name + literals(args)
	if b.waits {
		text = c.from.begin + "; " + text
	}
	rows, err = c.pqDriver.QueryContext(ctx, text, nil)
	if b.refused = txn.Outdated(err); b.waits {
		b.failed, b.waits = err, err != nil
	}
	return rows, true, err
}

// prepareClaim prepares the claim, and again after txn.Replan: the server may keep a plan from when the table was
// empty.
func (c *pqConn) prepareClaim(ctx context.Context) error {
	if time.Since(c.begin.prepared) < txn.Replan {
		return nil
	}
	var err error
	if !c.begin.prepared.IsZero() {
		_, err = c.pqDriver.ExecContext(ctx, "DEALLOCATE "+c.from.claim.name, nil)
	}
	if err == nil {
		_, err = c.pqDriver.ExecContext(ctx, "PREPARE "+c.from.claim.name+" AS "+c.from.claim.query, nil)
	}
	c.begin.prepared, c.begin.refused = time.Now(), err != nil
	return err
}

// literals returns args, texts and numbers, as a list of SQL.
func literals(args []driver.NamedValue) string {
	var b strings.Builder
	for i, arg := range args {
		b.WriteByte("(,"[min(i, 1)])
		switch v := arg.Value.(type) {
		case string:
			b.WriteString(pq.QuoteLiteral(v))
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		default:
			panic(fmt.Sprintf("no literal of a %T", v))
		}
	}
	return b.String() + ")"
}
