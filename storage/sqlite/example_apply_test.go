package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
)

// A worker writes a row of the host's exactly once: in the transaction that ends the event. The
// transaction of the first attempt fails, and its row is gone with it.
func ExampleHostTx() {
	ctx, stop := context.WithCancel(context.Background())
	folder, err := os.MkdirTemp("", "mortise")
	check(err)
	defer func() { _ = os.RemoveAll(folder) }()
	db, err := sqlite.Open(ctx, filepath.Join(folder, "docs.db"), nil)
	check(err)
	defer func() { _ = db.Close() }()
	check(db.InTx(ctx, func(ctx context.Context, tx *sqlite.Tx) error { // when the program is deployed
		_, err := tx.ExecContext(ctx, "CREATE TABLE pages (event TEXT, title TEXT)")
		return err
	}))
	requests, err := trigger.New(db.Trigger(), nil)
	check(err)
	worker, err := trigger.NewWorker(requests, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		title := "Rate limits" // after work that may take minutes
		return trigger.Outcome{Summary: "Wrote a page.", Apply: func(ctx context.Context) error {
			tx, ok := sqlite.HostTx(ctx)
			if !ok {
				return errors.New("no transaction")
			}
			_, err := tx.ExecContext(ctx, "INSERT INTO pages (event, title) VALUES (?, ?)", e.ID.String(), title)
			if err == nil && e.Attempts == 1 {
				err = trigger.RetryAfter(errors.New("the disk was full"), 0)
			}
			return err
		}}, nil
	}, &trigger.WorkerOptions{Apply: true})
	check(err)
	event, err := requests.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the rate limits."})
	check(err)
	for range 2 { // an ordinary host calls worker.Run
		_, err := worker.RunOnce(ctx)
		check(err)
	}
	event, err = requests.Event(ctx, "acme", event.ID)
	check(err)
	var pages int
	check(db.InTx(ctx, func(ctx context.Context, tx *sqlite.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM pages").Scan(&pages)
	}))
	fmt.Println(event.Status, "after", event.Attempts, "attempts:", pages, "page")
	stop()
	// Output:
	// completed after 2 attempts: 1 page
}
