package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/trigger"
)

// What was accepted is there when the file is opened again.
func ExampleOpen() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "mortise")
	check(err)
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "mortise.db")

	db, err := sqlite.Open(ctx, path, nil)
	check(err)
	service, err := trigger.New(db.Trigger(), nil)
	check(err)
	e, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the --json flag."})
	check(err)
	check(db.Close())

	db, err = sqlite.Open(ctx, path, nil)
	check(err)
	defer func() { _ = db.Close() }()
	e, err = db.Trigger().Store.Event(ctx, "acme", e.ID)
	check(err)
	fmt.Println(e.Status, e.Instructions)
	// Output:
	// received Document the --json flag.
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A backup is a database like any other. To restore it, stop every program that uses the
// database, remove the files beside it (-wal and -shm), and put the backup in its place.
func ExampleDB_Backup() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "mortise")
	check(err)
	defer func() { _ = os.RemoveAll(folder) }()
	db, err := sqlite.Open(ctx, filepath.Join(folder, "mortise.db"), nil)
	check(err)
	defer func() { _ = db.Close() }()
	service, err := trigger.New(db.Trigger(), nil)
	check(err)
	e, err := service.Submit(ctx, "acme", "ann", trigger.Submission{Instructions: "Document the --json flag."})
	check(err)

	copied := filepath.Join(folder, "backup.db")
	check(db.Backup(ctx, copied))
	restored, err := sqlite.Open(ctx, copied, nil)
	check(err)
	defer func() { _ = restored.Close() }()
	if e, err = restored.Trigger().Store.Event(ctx, "acme", e.ID); err != nil {
		panic(err)
	}
	fmt.Println(e.Instructions)
	// Output: Document the --json flag.
}

// A client's access token is as good after a restart as before, and what it allows is
// what the client's roles are by then.
func ExampleDB_AuthMgmt() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "mortise")
	check(err)
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "mortise.db")
	root := authmgmt.Caller{Actor: "root", Access: access.Full()}

	db, err := sqlite.Open(ctx, path, nil)
	check(err)
	service, err := authmgmt.New(authmgmt.Backend{Store: db.AuthMgmt().Store}, nil)
	check(err)
	c, secret, err := service.CreateClient(ctx, "acme", root, authmgmt.NewClient{Name: "Search page", Roles: []access.Role{{ID: "viewer"}}})
	check(err)
	_, token, err := service.Login(ctx, c.ID, secret.Reveal())
	check(err)
	check(db.Close())

	db, err = sqlite.Open(ctx, path, nil)
	check(err)
	defer func() { _ = db.Close() }()
	service, err = authmgmt.New(authmgmt.Backend{Store: db.AuthMgmt().Store}, nil)
	check(err)
	for _, role := range []string{"viewer", "editor"} {
		_, err = service.UpdateClient(ctx, "acme", root, c.ID, authmgmt.ClientUpdate{Roles: &[]access.Role{{ID: role}}})
		check(err)
		i, err := service.VerifyToken(ctx, token.Reveal())
		check(err)
		fmt.Println(role, i.Access.Allows(access.InsertRecords, access.Resource{Type: access.Vault, ID: "people"}))
	}
	// Output:
	// viewer false
	// editor true
}
