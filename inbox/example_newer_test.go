package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/sqlite"
)

// A stock count that arrives late must not overwrite a newer one. The handler is what
// consumer.Handle takes; what is around it stands for the consumer.
func ExampleNewer() {
	type Count struct {
		Item     string
		Revision int64
		Pieces   int
	}
	handler := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Count]) error {
		if err := inbox.Newer(ctx, tx, m.Body.Item, m.Body.Revision); err != nil {
			return err // ErrStale: rolled back, done, counted as skipped
		}
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO stock (item, pieces) VALUES ($1, $2)", m.Body.Item, m.Body.Pieces)
		return err
	}

	ctx := context.Background()
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "stock.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if _, err := st.DB().Exec("CREATE TABLE stock (item TEXT PRIMARY KEY, pieces INTEGER)"); err != nil {
		log.Fatal(err)
	}
	for _, count := range []Count{{"bolt", 1, 500}, {"bolt", 3, 320}, {"bolt", 2, 480}} {
		t, err := st.Begin(ctx)
		if err != nil {
			log.Fatal(err)
		}
		tx := headrace.NewTx(t, headrace.TxOptions{Scope: "warehouse/stock.counted", Versions: st.Operations().Versions})
		err = handler(ctx, tx, &headrace.Message[Count]{Body: count})
		if errors.Is(err, inbox.ErrStale) {
			fmt.Printf("revision %d: stale\n", count.Revision)
			t.Rollback()
			continue
		}
		if err == nil {
			err = st.Commit(ctx, t, nil)
		}
		fmt.Printf("revision %d: %v\n", count.Revision, err)
	}
	var pieces int
	if err := st.DB().QueryRow("SELECT pieces FROM stock WHERE item = 'bolt'").Scan(&pieces); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pieces, "pieces")
	// Output:
	// revision 1: <nil>
	// revision 3: <nil>
	// revision 2: stale
	// 320 pieces
}
