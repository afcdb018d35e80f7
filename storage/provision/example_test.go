package provision_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/provision"
	"github.com/seed-6363c74e/mortise/trigger"
)

// services makes those of a host that has no vaults and no sounds: its documents name none.
func services(ctx context.Context) (*provision.Services, error) {
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	backend := db.Trigger()
	backend.Directory = backend.Store.(trigger.Organizations) // a document may set organizations up
	triggers, err := trigger.New(backend, nil)
	if err != nil {
		return nil, err
	}
	credentials, err := authmgmt.New(db.AuthMgmt(), nil)
	return &provision.Services{Trigger: triggers, AuthMgmt: credentials, Credentials: db.AuthMgmt().Store}, err
}

func empty(ctx context.Context, do func(*provision.Services) error) error {
	s, err := services(ctx)
	if err != nil {
		return err
	}
	return do(s)
}

// What is wrong with a document is told with its place, before anything is stored.
func Example() {
	ctx := context.Background()
	s, err := services(ctx)
	if err != nil {
		panic(err)
	}
	for _, text := range []string{
		`{"organizations": [{"id": "acme", "api_keys": [{"key": "short"}], "color": 1}]}`,
		`{"organizations": [{"id": "acme", "api_keys": [{"key": "sk-0f8fad5bd9cb469fa16570867728950e"}]}]}`,
	} {
		doc, err := provision.Parse("acme.json", []byte(text), nil)
		if err == nil {
			err = doc.Rehearse(ctx, empty)
		}
		var wrong *provision.Error
		if errors.As(err, &wrong) {
			fmt.Println(strings.ReplaceAll(wrong.Error(), ": ", ":\n"))
			continue
		}
		if err == nil {
			err = doc.Apply(ctx, s, empty)
		}
		fmt.Println("applied:", err == nil)
	}
	key, err := s.Trigger.VerifyKey(ctx, "sk-0f8fad5bd9cb469fa16570867728950e")
	fmt.Println(key.Organization, err)
	// Output:
	// acme.json:
	// line 1, column 56:
	// organizations[0].api_keys[0].key:
	// must be 32 to 1024 bytes long; line 1, column 67:
	// organizations[0]:
	// unknown key "color"
	// applied: true
	// acme <nil>
}
