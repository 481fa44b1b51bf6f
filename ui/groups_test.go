package ui_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/ui/who"
)

// What was resolved is found again, also without open letters. The list of those with open letters goes on.
func TestListOfGroups(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.me.Role = who.Viewer
	f.fail(2)
	if _, err := redrive.New(f.st).Discard(t.Context(), redrive.Request{Filter: dlq.Filter{IDs: []int64{1, 2}}, By: "bo", Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	_, stop := f.run("v1.8.1", func(paid) error { return nil })
	f.counted()
	stop()
	f.get("/groups")
	f.wants(http.StatusOK, "0 groups have open letters", "No dead letter is open")
	f.get("/")
	if !strings.Contains(f.body, `href="/groups?state=resolved"`) {
		t.Error("the overview does not lead to what is resolved")
	}
	f.get("/groups?state=resolved&consumer=billing")
	f.wants(http.StatusOK, "1 group is resolved", "resolved the total is negative", "0 2 now", "headrace dlq groups --consumer billing --resolved")
	f.get("/groups?state=resolved&consumer=nosuch")
	f.wants(http.StatusOK, "No group is resolved")
	f.get("/groups?state=nosuch")
	f.wants(http.StatusBadRequest, "open or resolved")

	var letters []dlq.Letter
	for i := range 51 {
		l := letterOf(fmt.Sprint("failure ", i), fmt.Sprint("key-", i))
		l.ErrorFingerprint = fmt.Sprintf("%016x", i)
		letters = append(letters, l)
	}
	f.write(letters...)
	f.get("/groups")
	if n := strings.Count(f.body, "data-row"); n != 50 {
		t.Errorf("%d rows", n)
	}
	f.wants(http.StatusOK, "51 groups", "Go on", "headrace dlq groups")
	f.get("/groups?cursor=50")
	if n := strings.Count(f.body, "data-row"); n != 1 || strings.Contains(f.body, "Go on") {
		t.Errorf("%d rows: %s", n, f.text())
	}
	f.get("/groups?cursor=9223372036854775807")
	f.wants(http.StatusOK, "51 groups")
}
