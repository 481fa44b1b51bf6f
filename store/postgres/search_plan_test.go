package postgres_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/headrace/headrace/store/postgres"
)

// searchedLetters fills the dead letters: nine of ten are open, a common group has four of ten, and
// others lie scattered.
const searchedLetters = `INSERT INTO headrace_dead_letters (id, state, class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint,
	message_id, topic, payload, metadata, coordinates, trace_parent, trace_state, error, error_fingerprint, chain, stack, attempts,
	first_failure, last_failure, previous_id, redrives, host, build, environment, created_at, changed_at)
SELECT n, CASE WHEN n % 10 = 9 THEN 'discarded' ELSE 'open' END, 'exhausted', 'billing', 'h', 'billing/h', 'k' || n, '', false, 'f' || n, '',
	'm' || n, 'orders', convert_to('{"id":' || n || ',"total":' || n % 9999 || ',"note":"' || repeat('x', 200) || '"}', 'UTF8'), '\x7b7d', '{}', '', '',
	'charge order ' || n || ': context deadline exceeded', CASE WHEN n % 5 < 2 THEN 'common' ELSE 'rare' || n % 40 END, '[]', '', 1,
	t.at, t.at, 0, 0, 'host-' || n % 6, 'v' || n * 5 / $1::bigint, '', t.at, t.at
FROM generate_series(1, $1::bigint) AS n
CROSS JOIN LATERAL (SELECT now() - interval '30 days' * (1 - n::float8 / $1::bigint) AS at) AS t`

// No look at dead letters reads more than 2,500 pages, however many letters there are.
// HEADRACE_TEST_LETTERS=1000000 fills the table with so many. (A table that was never analysed
// is read by bitmaps; 2 % of new letters have it analysed.)
func TestSearchReadsFewPages(t *testing.T) {
	t.Parallel()
	letters := 200_000
	if testing.Short() {
		letters = 50_000
	}
	if n, err := strconv.Atoi(os.Getenv("HEADRACE_TEST_LETTERS")); err == nil {
		letters = n
	}
	b := setup(t, "open", "", postgres.Options{})
	b.exec(searchedLetters, letters)
	const pages = 2500
	const (
		filter = "text, bigint[], text, text, text, text, text, text, timestamptz, timestamptz, text, text, text, bytea, bytea, text, bigint, bigint"
		most   = "9223372036854775807"
	)
	from := func(window int) string { return strconv.Itoa(max(letters-window*10/9, 0)) }
	b.exec("VACUUM ANALYZE headrace_dead_letters")
	for _, source := range []struct{ name, value, group, key string }{
		{"all", "", "", ""}, {"open", "", "", ""}, {"group", "common", "common", ""}, {"group", "rare7", "rare7", ""}, {"key", "k77", "", "k77"},
	} {
		name := source.name + " " + source.value
		window := "'" + source.name + "', '{}', '" + source.value + "', 0, " + most + ", "
		for _, query := range []string{"letters_window", "letters_window_oldest"} {
			size := "20000"
			if source.value != "" {
				size = "2000"
			}
			explain(t, b.db, query+" of "+name, "PREPARE p (text, bigint[], text, bigint, bigint, integer) AS "+b.SQL(query), "EXECUTE p ("+window+size+")", pages)
		}
		above := from(20_000)
		switch source.value {
		case "common":
			above = strconv.Itoa(letters - 2000*5/2)
		case "rare7":
			above = strconv.Itoa(max(letters-2000*40, 0))
		}
		state := "open"
		if source.name == "all" {
			state = ""
		}
		args := func(topic, text, where string) string {
			return strings.Join([]string{"'" + state + "'", "'{}'", "''", "''", "'" + topic + "'", "''", "'" + source.group + "'", "'" + source.key + "'", "NULL", "NULL", "''", "''", "'" + text + "'", "NULL", where, "'" + source.name + "'", above, most}, ", ")
		}
		for what, a := range map[string]string{"all": args("", "", "NULL"), "topic": args("nosuch", "", "NULL"), "text": args("", "nosuch", "NULL"), "where": args("", "", `'"total"'`)} {
			explain(t, b.db, "letters_list by "+what+" of "+name, "PREPARE p ("+filter+", integer) AS "+b.SQL("letters_list"), "EXECUTE p ("+a+", 50)", pages)
			explain(t, b.db, "letters_groups by "+what+" of "+name, "PREPARE p ("+filter+") AS "+b.SQL("letters_groups"), "EXECUTE p ("+a+")", pages)
			explain(t, b.db, "letters_choose by "+what+" of "+name, "PREPARE p ("+filter+", boolean) AS "+b.SQL("letters_choose"), "EXECUTE p ("+a+", true)", pages)
		}
	}
	b.exec("INSERT INTO headrace_redrive_letters (redrive_id, letter_id, rev, state, scope, key, order_key)"+
		" SELECT 1, l.id, 0, CASE WHEN l.id * 10 > $1::bigint * 7 THEN 'queued' ELSE 'succeeded' END, l.scope, l.key, '' FROM headrace_dead_letters AS l", letters)
	b.exec("VACUUM ANALYZE headrace_redrive_letters")
	explain(t, b.db, "redrives_next", "PREPARE p (bigint, integer) AS "+b.SQL("redrives_next"), "EXECUTE p (1, 500)", 3500)
	explain(t, b.db, "redrives_survey", "PREPARE p (bigint, integer) AS "+b.SQL("redrives_survey"), "EXECUTE p (1, 100)", pages)
	explain(t, b.db, "letters_created", "PREPARE p (bigint) AS "+b.SQL("letters_created"), "EXECUTE p (1234)", 10)
}
