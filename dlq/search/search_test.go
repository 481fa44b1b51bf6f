package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/search"
)

// table is letters in memory, by id. It counts what is asked of it.
type table struct {
	letters []dlq.Letter
	probes  int
	looked  int64
}

func (tb *table) in(w dlq.Span) (in []dlq.Letter) {
	for _, l := range tb.letters {
		if l.LetterID > w.Above && (w.Below == 0 || l.LetterID < w.Below) {
			in = append(in, l)
		}
	}
	return in
}

func (tb *table) chosen(f dlq.Filter, w dlq.Span) (in []dlq.Letter) {
	for _, l := range tb.in(w) {
		if (f.Topic == "" || l.Delivery.Topic == f.Topic) && (f.Since.IsZero() || !l.CreatedAt.Before(f.Since)) && (f.Until.IsZero() || l.CreatedAt.Before(f.Until)) {
			in = append(in, l)
		}
	}
	return in
}

func (tb *table) Window(_ context.Context, _ dlq.Filter, within dlq.Span, size int, oldest bool) (dlq.Window, error) {
	in, w := tb.in(within), dlq.Window{Span: within}
	if len(in) >= size && oldest {
		w.Below, in = in[size-1].LetterID+1, in[:size]
	} else if len(in) >= size {
		in = in[len(in)-size:]
		w.Above = in[0].LetterID - 1
	}
	w.Looked = int64(len(in))
	tb.looked += w.Looked
	return w, nil
}

func (tb *table) ListIn(_ context.Context, f dlq.Filter, w dlq.Span, limit int) ([]dlq.Letter, error) {
	in := tb.chosen(f, w)
	slices.Reverse(in)
	return in[:min(limit, len(in))], nil
}

func (tb *table) IDsIn(_ context.Context, f dlq.Filter, w dlq.Span) ([]int64, error) {
	return ids(tb.chosen(f, w)), nil
}

func (tb *table) GroupsIn(_ context.Context, f dlq.Filter, w dlq.Span) (groups []dlq.Group, err error) {
	for _, l := range tb.chosen(f, w) {
		groups = append(groups, dlq.Group{ErrorFingerprint: l.ErrorFingerprint, Count: 1, First: l.CreatedAt, Last: l.CreatedAt, SampleID: l.LetterID, Sample: l.Error})
	}
	return groups, nil
}

func (tb *table) Created(_ context.Context, id int64) (int64, time.Time, error) {
	tb.probes++
	for _, l := range slices.Backward(tb.letters) {
		if l.LetterID <= id {
			return l.LetterID, l.CreatedAt, nil
		}
	}
	return 0, time.Time{}, nil
}

func ids(letters []dlq.Letter) (list []int64) {
	for _, l := range letters {
		list = append(list, l.LetterID)
	}
	return list
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// many returns letters with gaps between their ids, one a second; each tenth is of the topic
// "rare".
func many(n int) *table {
	tb := &table{}
	for i := range n {
		l := dlq.Letter{LetterID: int64(3*i + 7), CreatedAt: start.Add(time.Duration(i) * time.Second), ErrorFingerprint: fmt.Sprint(i % 3), Error: fmt.Sprint(i)}
		if i%10 == 0 {
			l.Delivery.Topic = "rare"
		}
		tb.letters = append(tb.letters, l)
	}
	return tb
}

// Times are exact, although letters are written out of order by up to Disorder, and take at
// most 20 probes.
func TestTimesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tb, id := &table{}, int64(0)
		n := rapid.IntRange(0, 60).Draw(t, "letters")
		step := time.Duration(rapid.Int64Range(0, int64(10*time.Minute)).Draw(t, "step"))
		for i := range n {
			id += rapid.Int64Range(1, 1000).Draw(t, "gap")
			late := time.Duration(rapid.Int64Range(0, int64(search.Disorder)-1).Draw(t, "late"))
			tb.letters = append(tb.letters, dlq.Letter{LetterID: id, CreatedAt: start.Add(time.Duration(i)*step + late)})
		}
		f := dlq.Filter{}
		at := func(name string) time.Time {
			if n == 0 || rapid.Bool().Draw(t, "no "+name) {
				return time.Time{}
			}
			l := tb.letters[rapid.IntRange(0, n-1).Draw(t, name)]
			return l.CreatedAt.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "away")))
		}
		f.Since, f.Until = at("since"), at("until")
		page, err := search.Letters(t.Context(), tb, search.Request{Filter: f, Limit: 100, Budget: search.ToTheEnd})
		if err != nil {
			t.Fatal(err)
		}
		got := ids(page.Letters)
		slices.Reverse(got)
		if want := ids(tb.chosen(f, dlq.Span{})); !slices.Equal(got, want) || tb.probes > 20 {
			t.Fatalf("%d with %d probes, want %d", got, tb.probes, want)
		}
	})
}

// Of a large table a short time is only a small part.
func TestTimesNarrow(t *testing.T) {
	tb := many(200_000)
	f := dlq.Filter{Topic: "rare", Since: start.Add(100_000 * time.Second), Until: start.Add(100_600 * time.Second)}
	page, err := search.Letters(t.Context(), tb, search.Request{Filter: f, Limit: 1000, Budget: search.ToTheEnd})
	if most := 600 + 2*int64(search.Disorder/time.Second) + 2*200_000/512; err != nil || len(page.Letters) != 60 || page.Looked > most {
		t.Errorf("%d letters, looked at %d of at most %d, %v", len(page.Letters), page.Looked, most, err)
	}
}

// A budget that is used up at once is one window; the cursors lead to the end, and to each
// letter once.
func TestBudget(t *testing.T) {
	tb := many(10_000)
	r := search.Request{Filter: dlq.Filter{Topic: "rare"}, Limit: 5000, Budget: 1}
	var got []int64
	var looked int64
	for answers := 1; ; answers++ {
		page, err := search.Letters(t.Context(), tb, r)
		if err != nil || page.Looked > 4000 {
			t.Fatalf("%+v, %v", page.Progress, err)
		}
		got, looked = append(got, ids(page.Letters)...), looked+page.Looked
		if page.Of < 9_900 || page.Of > 10_100 {
			t.Errorf("answer %d: of %d", answers, page.Of)
		}
		if r.Cursor = page.Cursor; r.Cursor == 0 {
			if answers != 3 || looked != 10_000 {
				t.Errorf("%d answers, %d letters", answers, looked)
			}
			break
		}
	}
	slices.Reverse(got)
	if want := ids(tb.chosen(r.Filter, dlq.Span{})); !slices.Equal(got, want) {
		t.Errorf("%d letters, want %d", len(got), len(want))
	}
}

// A full page ends where its last letter is, and a page that is full by chance is the last.
func TestLimit(t *testing.T) {
	tb := many(1_000)
	r := search.Request{Filter: dlq.Filter{Topic: "rare"}, Limit: 30}
	page, err := search.Letters(t.Context(), tb, r)
	if err != nil || len(page.Letters) != 30 || page.Cursor != page.Letters[29].LetterID || page.Looked != 300 || page.Of < 990 || page.Of > 1010 {
		t.Errorf("%+v, %v", page.Progress, err)
	}
	r.Cursor, r.Limit = page.Cursor, 70
	if page, err = search.Letters(t.Context(), tb, r); err != nil || len(page.Letters) != 70 || page.Cursor != 0 || page.Looked != 700 {
		t.Errorf("%+v, %v", page.Progress, err)
	}
}

// Each gives all letters once, some at a time.
func TestEach(t *testing.T) {
	tb := many(10_000)
	var got []int64
	p, err := search.Each(t.Context(), tb, search.Request{Budget: search.ToTheEnd}, func(some []dlq.Letter) error {
		if len(some) > 500 {
			t.Errorf("%d at a time", len(some))
		}
		got = append(got, ids(some)...)
		return nil
	})
	slices.Reverse(got)
	if want := ids(tb.letters); err != nil || !slices.Equal(got, want) || p.Looked != 10_000 || p.Cursor != 0 {
		t.Errorf("%d letters, %+v, %v", len(got), p, err)
	}
	full := errors.New("no space left")
	if _, err := search.Each(t.Context(), tb, search.Request{}, func([]dlq.Letter) error { return full }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

// Groups of several windows become one, with the first, the last and the newest of them.
func TestGroups(t *testing.T) {
	tb := many(10_001)
	page, err := search.Groups(t.Context(), tb, search.Request{Budget: search.ToTheEnd})
	if err != nil || len(page.Groups) != 3 || page.Looked != 10_001 || page.Of != 10_001 || page.Cursor != 0 {
		t.Fatalf("%+v, %v", page, err)
	}
	want := dlq.Group{ErrorFingerprint: "1", Count: 3334, First: start.Add(time.Second), Last: start.Add(10_000 * time.Second), SampleID: 30_007, Sample: "10000"}
	if page.Groups[0] != want {
		t.Errorf("%+v, want %+v", page.Groups[0], want)
	}
	if n, err := search.Count(t.Context(), tb, dlq.Filter{Topic: "rare"}); n != 1001 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// From the oldest up each letter comes once, whatever is asked for at a time.
func TestOldest(t *testing.T) {
	tb := many(9_000)
	f := dlq.Filter{Topic: "rare"}
	walk, err := search.NewOldest(t.Context(), tb, f, dlq.Span{Below: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for limit := 1; ; limit = 2*limit + 1 {
		some, err := walk.Next(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, some...)
		if len(some) < limit {
			break
		}
	}
	if want := ids(tb.chosen(f, dlq.Span{Below: 20_000})); !slices.Equal(got, want) {
		t.Errorf("%d letters, want %d", len(got), len(want))
	}
}
