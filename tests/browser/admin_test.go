package browser

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/ui/who"
)

// What only admins do works without JavaScript, on pages that are as all others. An edit that adds one character at the
// end changes nothing else, whatever a browser does with ends of lines.
func TestActionsOfAdmins(t *testing.T) {
	t.Parallel()
	n := newNight(t, tokens(t, who.Person{Name: "ann", Role: who.Admin}))
	n.run("v1", func(o paid) error {
		switch {
		case o.Total < 0:
			return retry.Permanent(errors.New(hostile))
		case o.ID == "W":
			return retry.After(time.Hour, errors.New(hostile))
		}
		return nil
	})
	const came = "\n\n{\"id\": \"A\",\n\t\"total\": -1, \"</textarea>\": \"&amp;ü\U0001f600\"}\n\n"
	for _, one := range [][2]string{{"A", came}, {"A", `{"id":"A2","total":2}`}, {hostile + "W", `{"id":"W"}`}} {
		m := n.source.Deliver("orders.paid", one[0], []byte(one[1]), map[string]string{hostile: hostile})
		if acked, err := memsource.Outcome(t.Context(), m); err != nil || !acked {
			t.Fatal(acked, err)
		}
	}
	const editIt, edited, cancelLink = `form[action$="/editor"] button`, `textarea[name="payload"]`, `a[href$="/cancel"]`
	b := open(t, bearing(tokenOf("ann")))
	for _, path := range []string{"/backlog", "/l/2/newkey"} {
		b.look(n, path)
	}
	b.goTo(n.pages + "/backlog")
	b.look(n, strings.TrimPrefix(run[string](b, `document.querySelector('`+cancelLink+`').href`), n.pages))
	b.goTo(n.pages + "/l/1")
	b.click(editIt)
	b.asAllOthers("/l/1/editor")

	b = open(t, bearing(tokenOf("ann")), noScripts())
	b.goTo(n.pages + "/l/1")
	b.click(editIt)
	run[string](b, `document.querySelector('`+edited+`').value += " "`)
	b.write(`input[name="reason"]`, "INC-7")
	if status := b.click(`form[action$="/edit"] button`); status != http.StatusOK {
		t.Errorf("the edit: %d\n%s", status, b.text())
	}
	b.says("letter 1 has rev 1, key A")
	if l, err := n.st.Letters().Get(context.Background(), 1); err != nil || string(l.Message().Payload) != came+" " {
		t.Errorf("%q, %v", l.Message().Payload, err)
	}
	b.goTo(n.pages + "/l/2/newkey")
	for field, text := range map[string]string{"key": "A2", "again": "A2", "reason": "they are two"} {
		b.write(`input[name="`+field+`"]`, text)
	}
	b.click(`form[action$="/newkey"] button`)
	b.says("letter 2 is redriven under the key A2")
	b.goTo(n.pages + "/backlog")
	b.click(cancelLink)
	b.write(`input[name="reason"]`, "wrong price")
	b.click(`form[action$="/cancel"] button`)
	b.says("1 message is cancelled")
	n.sent = 1
	n.eventually("the conflict is applied", func() bool {
		rows, _, err := n.st.Operations().Waiting.List(context.Background(), backlog.Filter{}, 0, 1)
		return err == nil && len(rows) == 0
	})
	n.once()
}
