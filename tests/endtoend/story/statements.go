package story

import (
	"embed"
	"fmt"
)

//go:embed sql/*.sql
var files embed.FS

// sqlText returns the text of sql/NAME.sql, the same on both databases.
func sqlText(name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(fmt.Sprintf("story: no statement %s", name))
	}
	return string(text)
}

// The statements that run more than once.
var (
	beat            = sqlText("beat")
	acknowledge     = sqlText("acknowledge")
	insertDelivery  = sqlText("insert_delivery")
	insertInFlight  = sqlText("insert_in_flight")
	insertPublished = sqlText("insert_published")
	insertSeen      = sqlText("insert_seen")
	otherRuns       = sqlText("other_runs")
	takeOver        = sqlText("take_over")
	unsettled       = sqlText("unsettled")
)
