package story

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/internal/pgtest"
)

// The file of varied bodies: 118 lines, two of them blank.
const variedFile = "../testdata/varied.jsonl"

func varied(t *testing.T) [][]byte {
	t.Helper()
	content, err := os.ReadFile(variedFile)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(content, []byte("\n"))
}

// Every line ends as an invoice, or as a dead letter whose reason a person understands.
func TestVariedFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.db")
	rep := runChild(t, nil, "-json", "-db", file, "-in", variedFile).holds(t)
	if rep.Delivered != 116 || rep.Applied != 41 || rep.figures.Dead != 72 {
		t.Errorf("figures %+v", rep.figures)
	}
	got := make(map[string]int64)
	for _, l := range letters(t, file) {
		got[l]++
	}
	if diff := cmp.Diff(variedLetters, got); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
	// Again: nothing is new, not even the letters of what has no id.
	again := runChild(t, nil, "-json", "-db", file, "-in", variedFile).holds(t)
	if again.Messages != rep.Messages || again.Dead.Letters != rep.Dead.Letters || again.Duplicates != rep.Duplicates+116 {
		t.Errorf("again %+v, was %+v", again, rep)
	}
}

// In whatever order and however often the lines come, the same orders are invoiced, each once.
func TestVariedFileRepeatedAndShuffled(t *testing.T) {
	for _, seed := range []uint64{1, 2, rand.Uint64()} {
		t.Logf("seed %d", seed)
		var lines [][]byte
		for range 3 {
			lines = append(lines, varied(t)...)
		}
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		rep := runChild(t, bytes.Join(lines, []byte("\n")), "-json", "-in", "-").holds(t)
		if rep.Delivered != 3*116 || rep.Applied != 41 || rep.figures.Dead < 72 {
			t.Errorf("seed %d: figures %+v", seed, rep.figures)
		}
	}
}

// INVARIANT 1, of ids, order keys and headers that no text column takes as they are: each message has its letter,
// none is called lost; and a letter with other bytes is none of it.
func TestIdsThatTablesClean(t *testing.T) {
	line := func(id, key, payload string) []byte {
		return marshal(map[string]any{
			"id": id, "key": key, "payload": json.RawMessage(payload), "headers": map[string]string{"X-\x00": "\x00" + id},
		})
	}
	long, nuls := strings.Repeat("x", 1500), strings.Repeat("\x00", 300)
	lines := [][]byte{
		line("a\x00b", "k", `{"zen":1}`),
		line("a\x00c", "k\x00", paid),
		line("d", long+"\x00", `{"zen":2}`),
		line(long, "k", `{"zen":3}`),
		line(long+"y", "k", paid+" "),
		line(nuls, nuls, `{"zen":4}`),
		line("\x00", "\x00", `[]`),
		[]byte(`{"id":"\ud800","key":"\udfff","payload":{"zen":5}}`),
		[]byte("{\"id\":\"\xff\xfe\",\"key\":\"\xff\",\"payload\":{\"zen\":6}}"),
		[]byte(`{"id":"e\u0000","payload":1,"payload_base64":"//8="}`),
		[]byte(`{"id":"f\u0000","payload_base64":"//8="}`),
	}
	for name, args := range targets(t) {
		in := filepath.Join(t.TempDir(), "odd \xff.jsonl") // lines without an id are known by the file
		content := append(bytes.Join(lines, []byte("\n")), "\n{\"payload\":{\"zen\":7}}\n{}"...)
		if err := os.WriteFile(in, content, 0o600); err != nil {
			t.Fatal(err)
		}
		rep := runChild(t, nil, slices.Concat(args, []string{"-json", "-in", in})...).holds(t)
		if want := int64(len(lines) + 2); rep.Messages != want || rep.figures.Dead != want {
			t.Errorf("%s: figures %+v", name, rep.figures)
		}
		again := runChild(t, nil, slices.Concat(args, []string{"-json", "-in", in})...).holds(t)
		if again.Messages != rep.Messages || again.figures.Dead != rep.figures.Dead {
			t.Errorf("%s: again %+v, was %+v", name, again, rep)
		}
	}
}

// A letter of such a message counts by its bytes all the same.
func TestOtherBytesUnderACleanedId(t *testing.T) {
	file := filepath.Join(t.TempDir(), "orders.db")
	runChild(t, []byte(`{"id":"a\u0000b","payload":{"zen":1}}`), "-json", "-db", file, "-in", "-").holds(t)
	tamper(t, file, "UPDATE headrace_dead_letters SET payload = CAST('{\"zen\":2}' AS BLOB)")
	if r := runChild(t, nil, "-json", "-db", file, "-n", "0"); r.code != exitFailed || !strings.Contains(r.stderr, "1 messages are lost") {
		t.Errorf("%+v", r)
	}
}

// targets are the flags of a fresh database of each kind.
func targets(t *testing.T) map[string][]string {
	t.Helper()
	return map[string][]string{
		"SQLite":     {"-db", filepath.Join(t.TempDir(), "orders.db")},
		"PostgreSQL": {"-dsn", pgtest.NewDatabase(t)},
	}
}

// variedLetters are the dead letters of the file by class and reason, with N for every number.
var variedLetters = map[string]int64{
	`conflict: the key was used before with other content`:                                                                          2,
	`permanent: not a Shopify order: it has no financial_status`:                                                                    5,
	`permanent: not a Shopify order: it has no id above N`:                                                                          3,
	`permanent: not a Shopify order: it is a JSON list`:                                                                             2,
	`permanent: not a Shopify order: it is the JSON value null`:                                                                     1,
	`permanent: not a Shopify order: its financial_status is none of Shopify's`:                                                     1,
	`permanent: not a Shopify order: its id is not an integer`:                                                                      4,
	`permanent: not a Shopify order: its total_price is not a decimal number in a string (money is never a float)`:                  1,
	`permanent: the order is not paid: its financial_status is authorized`:                                                          1,
	`permanent: the order is not paid: its financial_status is partially_paid`:                                                      1,
	`permanent: the order is not paid: its financial_status is pending`:                                                             1,
	`permanent: the order is not paid: its financial_status is refunded`:                                                            1,
	`permanent: the order is not paid: its financial_status is voided`:                                                              1,
	`permanent: the shop, the name or the email holds a NUL character`:                                                              1,
	`permanent: total_price: not an amount of money: it has more decimals than EUR`:                                                 1,
	`permanent: total_price: not an amount of money: it has more decimals than JPY`:                                                 1,
	`permanent: total_price: not an amount of money: it is negative`:                                                                1,
	`permanent: total_price: not an amount of money: it is not written as digits, a point and digits`:                               4,
	`permanent: total_price: not an amount of money: it is too large`:                                                               1,
	`permanent: total_price: not an amount of money: its currency is not one of ISO N`:                                              2,
	`undecodable: fingerprint: malformed: the payload is not JSON (N bytes): no fingerprint of its fields`:                          2,
	`undecodable: key: absent: header "X-Shopify-Shop-Domain"; absent: message id`:                                                  1,
	`undecodable: key: malformed: JSON member "financial_status" is an array`:                                                       1,
	`undecodable: key: malformed: JSON member "id" is an object`:                                                                    1,
	`undecodable: key: malformed: no JSON member "id": the payload, or a part of it, is a plain value where an object was expected`: 3,
	`undecodable: key: malformed: line N of the input: it goes on after the JSON object, from byte N`:                               1,
	`undecodable: key: malformed: line N of the input: it has both payload and payload_baseN`:                                       1,
	`undecodable: key: malformed: line N of the input: it has neither payload nor payload_baseN`:                                    3,
	`undecodable: key: malformed: line N of the input: it is a JSON list`:                                                           1,
	`undecodable: key: malformed: line N of the input: it is a JSON string`:                                                         1,
	`undecodable: key: malformed: line N of the input: it is broken JSON after byte N`:                                              4,
	`undecodable: key: malformed: line N of the input: it is the JSON value null`:                                                   1,
	`undecodable: key: malformed: line N of the input: its headers are no object: it is a JSON string`:                              1,
	`undecodable: key: malformed: line N of the input: its id is a JSON object`:                                                     1,
	`undecodable: key: malformed: line N of the input: its payload_baseN is not baseN`:                                              1,
	`undecodable: key: malformed: the key has N bytes, at most N are allowed`:                                                       1,
	`undecodable: key: malformed: the key holds a NUL byte or is not valid UTF-N`:                                                   2,
	`undecodable: key: malformed: the key is white space only`:                                                                      1,
	`undecodable: key: malformed: the payload is not JSON (N bytes), so it has no "id"`:                                             10,
}

var numbers = regexp.MustCompile(`\d+`)

// letters returns the class and the reason of each dead letter.
func letters(t *testing.T, file string) []string {
	t.Helper()
	db, err := sql.Open("sqlite", uri(file))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "SELECT class || ': ' || replace(error, char(10), '; ') FROM headrace_dead_letters")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, numbers.ReplaceAllString(s, "N"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}
