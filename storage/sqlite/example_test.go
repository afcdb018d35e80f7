package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
)

func ExampleOpen() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "mortise")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	db, err := sqlite.Open(ctx, filepath.Join(folder, "mortise.db"), nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()

	tables := db.Trigger()
	service, err := trigger.New(tables, tables.Queue(nil), &trigger.Options{Directory: tables, Keys: tables})
	if err != nil {
		panic(err)
	}
	e, err := service.Submit(ctx, "acme", trigger.Submission{Instructions: "Document the --json flag."})
	if err != nil {
		fmt.Println("refused:", err)
	}
	err = service.UpdateOrganization(ctx, "acme", func(o *trigger.Organization) error {
		o.SetupComplete = true
		o.SetCollection([16]byte{1}, true)
		return nil
	})
	if err != nil {
		panic(err)
	}
	if e, err = service.Submit(ctx, "acme", trigger.Submission{Instructions: "Document the --json flag."}); err != nil {
		panic(err)
	}
	fmt.Println(e.Status)
	// Output:
	// refused: trigger: the organization has not finished setup
	// received
}

// A backup is a database like any other: to restore it, stop the program and put it in the place of the file.
func ExampleDB_Backup() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "mortise")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	db, err := sqlite.Open(ctx, filepath.Join(folder, "mortise.db"), nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	service, err := trigger.New(db.Trigger(), db.Trigger().Queue(nil), nil)
	if err != nil {
		panic(err)
	}
	e, err := service.Submit(ctx, "acme", trigger.Submission{Instructions: "Document the --json flag."})
	if err != nil {
		panic(err)
	}

	copied := filepath.Join(folder, "backup.db")
	if err := db.Backup(ctx, copied); err != nil {
		panic(err)
	}
	restored, err := sqlite.Open(ctx, copied, nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = restored.Close() }()
	if e, err = restored.Trigger().Get(ctx, "acme", e.ID); err != nil {
		panic(err)
	}
	fmt.Println(e.Instructions)
	// Output: Document the --json flag.
}
