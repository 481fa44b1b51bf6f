package alerting

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/dlq"
)

// compose makes the alert of a due group.
func compose(d alerts.Due) alerts.Alert {
	a := d.Alert
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", a.Consumer, d.Grp, a.Since.UnixMicro()))
	a.ID = "alert-" + hex.EncodeToString(sum[:16])
	switch {
	case a.Kind == alerts.RowParked:
		a.Text = fmt.Sprintf("the sink refuses events of this topic and takes others: %d parked, each with the later ones of its order key: "+
			"see headrace outbox parked", a.Count)
	case d.First:
		a.Kind = alerts.FirstDeadLetter
		a.Text = fmt.Sprintf("%s for a reason that was not seen before: see headrace dlq why %s", deadLetters(a.Count), a.ErrorFingerprint)
	default:
		a.Kind = alerts.DeadLetter
		a.Text = fmt.Sprintf("%s for a known reason, which goes on or has come back: see headrace dlq why %s", deadLetters(a.Count), a.ErrorFingerprint)
	}
	if a.Class == string(dlq.Parked) {
		a.Text += ", and docs/runbook.md for what to do"
	}
	return a
}

func deadLetters(n int64) string {
	if n == 1 {
		return "a message became a dead letter"
	}
	return fmt.Sprintf("%d messages became dead letters", n)
}

// composeRest makes the alert that sums up the groups that are not in list.
func composeRest(namespace string, taken alerts.Taken, list []alerts.Due) alerts.Alert {
	a := alerts.Alert{
		ID: "alert-" + uuid.NewString(), Kind: alerts.DeadLetter, Consumer: namespace,
		Count: taken.Count, Groups: taken.Groups - int64(len(list)), Since: taken.Since, At: taken.At,
	}
	for _, d := range list {
		a.Count -= d.Count
	}
	a.Text = fmt.Sprintf("%s for %d reasons, too many to tell one by one: see headrace dlq groups", deadLetters(a.Count), a.Groups)
	if namespace == "" {
		a.Kind = alerts.RowParked
		a.Text = fmt.Sprintf("the sink refuses events of %d topics and takes others: %d parked: see headrace outbox parked", a.Groups, a.Count)
	}
	return a
}
