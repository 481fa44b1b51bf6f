package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Why is why letters are passed over.
type Why struct {
	// Why is for people, and Count how many letters it is of.
	Why   string `json:"why"`
	Count int    `json:"count"`
}

// reasons counts why letters are passed over.
type reasons map[string]int

// list returns the most frequent reason first.
func (r reasons) list() []Why {
	list := []Why{}
	for why, n := range r {
		list = append(list, Why{why, n})
	}
	slices.SortFunc(list, func(a, b Why) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Why, b.Why)) })
	return list
}

// Survey is what an import of a file would do.
type Survey struct {
	Header
	End
	// New letters would be imported: the inbox has no row for their messages. Over are the others.
	New  int
	Over []Why
}

// Result is what an import has done.
type Result struct {
	// Imported counts letters, and Over those that are passed over.
	Imported int
	Over     []Why
}

// Look reads a whole file and says what an import would do. The error matches ErrFile unless the file is
// whole, unredacted, of the schema of a database with up to schema migrations, and of a consumer that
// has run on this database.
func Look(ctx context.Context, st store.Store, schema int, file io.Reader) (s Survey, err error) {
	over := reasons{}
	b := &batches{each: func(letters []*Letter) error {
		list, err := unknown(ctx, st, letters, over)
		s.New += len(list)
		return err
	}}
	s.End, err = Read(file, func(h Header) error {
		s.Header = h
		return fits(ctx, st, schema, h)
	}, b.add)
	if err == nil {
		err = b.flush()
	}
	s.Over = over.list()
	return s, err
}

// fits refuses a file that is not for this database.
func fits(ctx context.Context, st store.Store, schema int, h Header) error {
	if h.Schema < 1 || h.Schema > schema {
		return fmt.Errorf("%w: it has version %d of the schema, and this headrace knows up to %d", ErrFile, h.Schema, schema)
	}
	run, err := st.Operations().Instances.List(ctx, h.Consumer)
	if err != nil || len(run) > 0 {
		return err
	}
	builds, err := st.Operations().Groups.Builds(ctx, h.Consumer)
	if err == nil && len(builds) == 0 {
		err = fmt.Errorf("%w: its letters are of consumer %q, which has never run on this database", ErrFile, encode.Short(h.Consumer, 80))
	}
	return err
}

// unknown returns the letters whose messages this database does not know, each once.
func unknown(ctx context.Context, st store.Store, letters []*Letter, over reasons) ([]*Letter, error) {
	list, ids := eligible(letters, over)
	rows, err := st.Operations().Answers.Find(ctx, ids)
	for _, e := range rows {
		i := slices.IndexFunc(list, func(l *Letter) bool { return l.ID() == e.ID })
		over[here(list[i], e)]++
		list = slices.Delete(list, i, i+1)
	}
	return list, err
}

// eligible returns the letters that may be imported.
func eligible(letters []*Letter, over reasons) (list []*Letter, ids []inbox.ID) {
	seen := make(map[inbox.ID]bool, len(letters))
	for _, l := range letters {
		switch {
		case l.State != dlq.Open:
			over[string(l.State)+" where they come from"]++
		case l.Class == dlq.Conflict:
			over["a conflict: the message that had its key first does not come along"]++
		case slices.ContainsFunc(l.Steps, Step.called):
			over["a step may have been called, and a redrive would call it again"]++
		case seen[l.ID()]:
			over["twice in the file"]++
		default:
			seen[l.ID()] = true
			list, ids = append(list, l), append(ids, l.ID())
		}
	}
	return list, ids
}

// here says why a letter is passed over whose message has a row.
func here(l *Letter, e inbox.Entry) string {
	if e.Fingerprint != l.Delivery.Fingerprint {
		return "another message has the key here"
	}
	return map[inbox.State]string{
		inbox.Done: "applied here", inbox.Waiting: "waits here", inbox.Dead: "dead here already", inbox.Discarded: "discarded here",
	}[e.State]
}

// Order says how to import a file.
type Order struct {
	// By is who imports it, and Reason why, for the audit.
	By, Reason string
	// Progress, if set, is called after each commit with the number of imported letters.
	Progress func(done int)
}

// May returns an error that says so if the login may not import letters.
func May(ctx context.Context, st store.Store) error {
	t, err := st.Begin(ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	return st.Operations().Imports.AddAttempts(ctx, t, nil)
}

// Import imports the letters of a file that Look has read: the reader begins at the file's start again.
// With an error, the Result says what is imported; the same file again goes on with the rest.
func Import(ctx context.Context, st store.Store, s Survey, o Order, file io.Reader) (r Result, err error) {
	over := reasons{}
	im := &importer{st: st, from: s, o: o}
	b := &batches{each: func(letters []*Letter) error {
		n, why, err := im.retry(ctx, letters)
		if err != nil {
			return err
		}
		for w, count := range why {
			over[w] += count
		}
		if r.Imported += n; o.Progress != nil {
			o.Progress(r.Imported)
		}
		return nil
	}}
	changed := fmt.Errorf("%w: it was changed while it was read", ErrFile)
	end, err := Read(file, func(h Header) error {
		if h != s.Header {
			return changed
		}
		return nil
	}, b.add)
	if err == nil {
		err = b.flush()
	}
	if err == nil && end != s.End {
		err = changed
	}
	r.Over = over.list()
	if r.Imported > 0 {
		if err2 := im.summary(ctx, r.Imported); err == nil {
			err = err2
		}
	}
	return r, err
}

// importer imports batches.
type importer struct {
	st   store.Store
	from Survey
	o    Order
	// unread are the messages of this batch whose commit had no answer: if they are dead at the next
	// try, it was made.
	unread map[inbox.ID]bool
}

const (
	// maxTries is how often a batch runs that loses against other transactions, and commitTimeout bounds its
	// commit, which does not end with the caller's context.
	maxTries      = 5
	commitTimeout = 30 * time.Second
)

// retry imports a batch, and repeats it if that may help.
func (im *importer) retry(ctx context.Context, letters []*Letter) (n int, over reasons, err error) {
	im.unread = make(map[inbox.ID]bool)
	for try := 1; ; try++ {
		over = reasons{}
		n, err = im.once(ctx, letters, over)
		class := txn.Classify(err)
		switch {
		case err == nil:
			return n, over, nil
		case try == maxTries || class != txn.Serialization && class != txn.LockTimeout && !errors.Is(err, txn.ErrCommitUnknown):
			return 0, nil, err
		case !sleep.For(ctx, time.Duration(try)*10*time.Millisecond):
			return 0, nil, context.Cause(ctx)
		}
	}
}

// once imports a batch in one transaction.
func (im *importer) once(ctx context.Context, letters []*Letter, over reasons) (int, error) {
	list, ids := eligible(letters, over)
	if err := ctx.Err(); err != nil || len(list) == 0 {
		return 0, err
	}
	t, err := im.st.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer t.Rollback()
	claims := make([]inbox.Claim, len(list))
	for i, l := range list {
		claims[i] = inbox.Claim{ID: ids[i], Fingerprint: l.Delivery.Fingerprint}
	}
	claimed, err := im.st.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: claims})
	if err != nil {
		return 0, err
	}
	var won []*Letter
	before := 0
	for i, c := range claimed {
		switch {
		case c.Result == inbox.Won:
			won = append(won, list[i])
		case im.unread[ids[i]] && c.Entry.State == inbox.Dead:
			before++
		default:
			over[here(list[i], c.Entry)]++
		}
	}
	if len(won) == 0 {
		return before, nil
	}
	if err := im.write(ctx, t, won); err != nil {
		return 0, err
	}
	commit, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	err = im.st.Commit(commit, t, nil)
	if errors.Is(err, txn.ErrCommitUnknown) {
		for _, l := range won {
			im.unread[l.ID()] = true
		}
	}
	return before + len(won), err
}

// write writes all rows of letters whose messages are claimed.
func (im *importer) write(ctx context.Context, t *txn.Txn, won []*Letter) error {
	var ids []inbox.ID
	var attempts []inbox.Attempt
	var letters []dlq.Letter
	for _, l := range won {
		ids, attempts = append(ids, l.ID()), append(attempts, l.Runs...)
		one := l.Letter
		one.PreviousID = 0 // of the other database
		letters = append(letters, one)
	}
	moved, err := im.st.Inbox().Transition(ctx, t, ids, inbox.Done, inbox.Dead)
	if err != nil {
		return err
	}
	if len(moved) != len(ids) {
		return fmt.Errorf("%d of %d messages are dead after their claim", len(moved), len(ids))
	}
	if err := im.st.Operations().Imports.AddAttempts(ctx, t, attempts); err != nil {
		return err
	}
	inserted, err := im.st.Letters().Insert(ctx, t, letters)
	if err != nil {
		return err
	}
	rows := make([]dlq.Audit, len(won))
	for i, l := range won {
		if !inserted[i].Written {
			return fmt.Errorf("letter %d is one of a message that the inbox does not know: headrace check", inserted[i].LetterID)
		}
		id := inserted[i].LetterID
		rows[i] = dlq.Audit{LetterID: id, Action: "import", By: im.o.By, Reason: im.o.Reason, Detail: im.origin(l)}
		if err := im.edit(ctx, t, id, l); err != nil {
			return err
		}
	}
	return im.st.Letters().Record(ctx, t, rows)
}

// edit writes the newest edit of a letter, which a redrive sends.
func (im *importer) edit(ctx context.Context, t *txn.Txn, id int64, l *Letter) error {
	if len(l.Edits) == 0 {
		return nil
	}
	e := l.Edits[len(l.Edits)-1]
	e.LetterID, e.Rev, e.Content = id, 1, l.Edit
	written, err := im.st.Operations().Corrections.Edit(ctx, t, e)
	if err == nil && !written {
		err = fmt.Errorf("letter %d has changed in its own transaction", id)
	}
	return err
}

// origin says which letter it was.
func (im *importer) origin(l *Letter) string {
	says := "letter " + strconv.FormatInt(l.LetterID, 10) + " of database " + encode.Short(im.from.Database, 80)
	if l.Environment != "" {
		says += ", " + encode.Short(l.Environment, 80)
	}
	if len(l.Edits) > 1 {
		says += fmt.Sprintf("; the last of %d edits", len(l.Edits))
	}
	return says
}

// summary records an import as one thing that was done to the consumer, also after it was interrupted.
func (im *importer) summary(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	return store.Transact(ctx, im.st, func(t *txn.Txn) error {
		return im.st.Operations().Audit.Record(ctx, t, audit.Row{
			Kind: audit.Consumer, Subject: im.from.Consumer, Action: "import", By: im.o.By, Reason: im.o.Reason,
			Detail: fmt.Sprintf("%d letters of database %s, SHA-256 %s", n, encode.Short(im.from.Database, 80), im.from.SHA256),
		})
	})
}

// batches collects letters, and gives them on together.
type batches struct {
	each    func([]*Letter) error
	letters []*Letter
	bytes   int
}

// A batch has so many letters, and so many bytes unless one letter alone has more.
const (
	maxBatch   = 500
	batchBytes = 512 << 10
)

func (b *batches) add(l *Letter, bytes int) error {
	if len(b.letters) > 0 && b.bytes+bytes > batchBytes {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.letters, b.bytes = append(b.letters, l), b.bytes+bytes
	if len(b.letters) < maxBatch {
		return nil
	}
	return b.flush()
}

func (b *batches) flush() error {
	if len(b.letters) == 0 {
		return nil
	}
	letters := b.letters
	b.letters, b.bytes = nil, 0
	return b.each(letters)
}
