package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/search"
)

// listPage is how many letters are read at once, and listMost how many are printed of a page.
const (
	listPage = 500
	listMost = 10_000
)

// lookFlags say where a search begins, and whether it walks to the end.
type lookFlags struct {
	cursor limit
	all    bool
}

func addLook(c *cobra.Command) *lookFlags {
	l := &lookFlags{cursor: limit{most: 1<<63 - 1}}
	c.Flags().Var(&l.cursor, "cursor", "go on where another answer ended")
	c.Flags().BoolVar(&l.all, "all-pages", false, "walk to the end, however long it takes")
	return l
}

// request is what the flags ask for.
func (m *Main) request(f dlq.Filter, l *lookFlags, most int) search.Request {
	r := search.Request{Filter: f, Cursor: int64(l.cursor.n), Limit: most, Budget: m.Budget}
	if l.all {
		r.Budget = search.ToTheEnd
	}
	return r
}

// lookView is how far a search came, as JSON.
type lookView struct {
	Looked int64 `json:"looked"` // letters that were looked at
	Of     int64 `json:"of"`     // roughly, unless the search is over
	Cursor int64 `json:"cursor,omitempty"`
}

func viewLook(p search.Progress) lookView { return lookView(p) }

// came is the end of a search: it says how far it came if that is not the end.
func (m *Main) came(ctx context.Context, st openStore, r search.Request, found int64, p search.Progress) error {
	if p.Cursor == 0 {
		return m.found(ctx, st, int(found), r.Filter)
	}
	in := "newest"
	if r.Cursor != 0 {
		in = "next"
	}
	m.say("%d found in the %s %d of about %d; go on with --cursor %d, or walk to the end with --all-pages", found, in, p.Looked, p.Of, p.Cursor)
	if found > 0 {
		return nil
	}
	return knownConsumer(ctx, st, r.Filter.Consumer, r.Filter.Handler)
}

// letterPage is a page of letters as JSON.
type letterPage struct {
	Letters []letterView `json:"dead_letters"`
	lookView
}

func (m *Main) listCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "ls", Short: "list dead letters, newest first", Args: noArgs,
		Long: `Lists dead letters, newest first. It searches the newest letters for a short time, then says how far it got
and where to continue.`,
		Example: "  headrace dlq ls --consumer billing --since 24h --where '$.total < 0'\n  headrace dlq ls --topic orders --all-pages -o ndjson",
	}
	filter := addFilter(c)
	filter.addState()
	most := &limit{n: 50, most: listMost}
	c.Flags().Var(most, "limit", "how many to list at most")
	look := addLook(c)
	c.MarkFlagsMutuallyExclusive("limit", "all-pages")
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		f, err := filter.parse(time.Now())
		if err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error {
			if err := wholeGroup(ctx, st, &f); err != nil {
				return err
			}
			if look.all {
				return m.listAll(ctx, st, m.request(f, look, 0))
			}
			r := m.request(f, look, most.n)
			page, err := search.Letters(ctx, st.Letters(), r)
			if err != nil {
				return err
			}
			if err := m.emitLetters(letterPage{viewLetters(page.Letters), viewLook(page.Progress)}, true); err != nil {
				return err
			}
			if err := m.came(ctx, st, r, int64(len(page.Letters)), page.Progress); err != nil || len(page.Letters) == 0 {
				return err
			}
			m.next("dlq show %d", page.Letters[0].LetterID)
			return nil
		})
	})
	return c
}

// listAll prints all letters, page by page, so that it never holds more than one page.
func (m *Main) listAll(ctx context.Context, st openStore, r search.Request) error {
	found, newest := 0, int64(0)
	show := func(letters []dlq.Letter) (err error) {
		page := letterPage{Letters: viewLetters(letters)}
		if found == 0 && len(letters) > 0 {
			newest = letters[0].LetterID
		}
		if m.oneObject() {
			err = emitPart(m, "dead_letters", page.Letters, found == 0)
		} else {
			err = m.emitLetters(page, found == 0)
		}
		found += len(letters)
		return err
	}
	p, err := search.Each(ctx, st.Letters(), r, show)
	if err != nil {
		return err
	}
	switch {
	case found == 0:
		err = m.emitLetters(letterPage{[]letterView{}, viewLook(p)}, true)
	case m.oneObject():
		err = m.emitEnd(viewLook(p))
	}
	if err != nil {
		return err
	}
	if found > 0 {
		m.next("dlq show %d", newest)
	}
	return m.found(ctx, st, found, r.Filter)
}

// emitEnd ends the object that emitPart began.
func (m *Main) emitEnd(l lookView) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err = m.out.Write(append(append([]byte("\n  ],"), text[1:]...), '\n'))
	return err
}

func viewLetters(letters []dlq.Letter) []letterView {
	views := make([]letterView, 0, len(letters))
	for _, l := range letters {
		views = append(views, viewLetter(l))
	}
	return views
}

// emitLetters prints a page; the first has a header.
func (m *Main) emitLetters(page letterPage, first bool) error {
	rows := make([][]string, 0, len(page.Letters))
	for _, l := range page.Letters {
		rows = append(rows, []string{
			strconv.FormatInt(l.ID, 10), string(l.State), string(l.Class), short(l.Consumer, 30), short(l.Handler, 30),
			short(text(l.Key), 40), strconv.Itoa(l.Attempts), m.when(l.CreatedAt), short(text(l.Error), 60),
		})
	}
	header := []string{"ID", "STATE", "CLASS", "CONSUMER", "HANDLER", "KEY", "ATTEMPTS", "CREATED", "ERROR"}
	if !first {
		header = nil
	}
	return emitPage(m, page, page.Letters, header, rows)
}

// groupPage is a page of groups as JSON.
type groupPage struct {
	Groups []groupView `json:"groups"`
	lookView
}

// chosenGroups are groups of which a filter chooses letters: those it chooses are counted, and the newest of
// them is shown. Cancelled letters are in no group that has a state.
func chosenGroups(ctx context.Context, st openStore, f dlq.Filter, list []dlq.Group) ([]groupView, error) {
	known, err := st.Operations().Groups.List(ctx, groups.Filter{Consumer: f.Consumer, Handler: f.Handler, ErrorFingerprint: f.ErrorFingerprint, Closed: true})
	views := make([]groupView, len(list))
	for i, g := range list {
		id := groups.ID{Consumer: g.Consumer, Handler: g.Handler, ErrorFingerprint: g.ErrorFingerprint}
		views[i] = groupView{groups.Group{ID: id, First: g.First, FirstLetter: g.SampleID}, g.Count}
		if at := slices.IndexFunc(known, func(k groups.Group) bool { return k.ID == id }); at >= 0 {
			views[i].Group = known[at]
		}
		v := &views[i].Group
		v.Class, v.Last, v.LastLetter, v.Sample = g.Class, g.Last, g.SampleID, g.Sample
	}
	return views, err
}

// searchGroups prints groups that are not counted as a whole.
func (m *Main) searchGroups(ctx context.Context, st openStore, f dlq.Filter, look *lookFlags) error {
	r := m.request(f, look, 0)
	page, err := search.Groups(ctx, st.Letters(), r)
	if err != nil {
		return err
	}
	views, err := chosenGroups(ctx, st, f, page.Groups)
	if err != nil {
		return err
	}
	if err := emitPage(m, groupPage{views, viewLook(page.Progress)}, views, groupColumns, m.groupRows(views)); err != nil {
		return err
	}
	var letters int64
	for _, g := range views {
		letters += g.Count
	}
	if err := m.came(ctx, st, r, letters, page.Progress); err != nil || len(views) == 0 {
		return err
	}
	return m.nextWhy(ctx, st, views[0].Group)
}
