package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise"
)

// TestProvisioningDeletedVaults: a document that names what was deleted brings it not
// back, is noted once for all of its records, and applied otherwise.
func TestProvisioningDeletedVaults(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, _ *backends) {
		vaultOf := func(id string) string {
			return `{"id":"` + id + `","tables":[{"name":"persons","columns":[` + emailColumn + `]}],"records":[` +
				record(`"email":"ada@example.com"`) + "," + record(`"email":"bob@example.com"`) + `]}`
		}
		text := `{"organizations":[{"id":"acme","vaults":[` + vaultOf("v1") + `,` + vaultOf("v2") + `]},` +
			`{"id":"globex","vaults":[` + vaultOf("v1") + `,` + vaultOf("v2") + `]}]}`
		if err := apply(t, s, text); err != nil {
			t.Fatal(err)
		}
		service, ctx := s.vault.service, t.Context()
		before, err := service.KeyUsage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := service.DeleteVault(ctx, "acme", "test", "v1"); err != nil {
			t.Fatal(err)
		}
		if _, err := service.DeleteOrganization(ctx, "globex", "test"); err != nil {
			t.Fatal(err)
		}
		for range 2 { // before and after the last step
			doc, err := readText(t, text)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := applyDocument(ctx, s, doc, slog.New(slog.NewTextHandler(&out, nil))); err != nil {
				t.Fatal(err)
			}
			if strings.Count(out.String(), "that was deleted") != 2 || !strings.Contains(out.String(), "organization=acme vault=v1\n") ||
				!strings.Contains(out.String(), "organization=globex\n") {
				t.Errorf("%s", &out)
			}
			for _, gone := range [][2]string{{"acme", "v1"}, {"globex", "v1"}, {"globex", "v2"}} {
				if _, err := service.Vault(ctx, gone[0], gone[1]); !errors.Is(err, mortise.ErrNotFound) {
					t.Errorf("%v: %v", gone, err)
				}
			}
			usage, err := service.KeyUsage(ctx)
			if err != nil || usage.Rows != before.Rows-3*2 { // v2 of acme has its own
				t.Errorf("%v, %v", usage, err)
			}
			for more := true; more; {
				if more, err = service.DeleteOrganization(ctx, "globex", "test"); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
