package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
)

// TestDemoTokens: the demo's token works beside those of the storage, and is not in it.
func TestDemoTokens(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		if err := apply(t, s, orgDocument("demo", true, "[]", "[]")); err != nil {
			t.Fatal(err)
		}
		stored := b.authmgmt.Store
		if err := addDemoCredentials(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		demo, err := wire(testSettings(), b, testKey(), discard())
		if err != nil {
			t.Fatal(err)
		}
		ctx, service := t.Context(), demo.authmgmt.service
		record, text, err := service.IssueToken(ctx, demoOrganization, provisioner, authmgmt.NewToken{Subject: demoSubject, FullAccess: true})
		if err != nil {
			t.Fatal(err)
		}
		_, login, err := service.Login(ctx, "c1", docSecret)
		if err != nil {
			t.Fatal(err)
		}
		_, person, err := service.IssueToken(ctx, demoOrganization, provisioner, authmgmt.NewToken{Subject: "alan@example.com", FullAccess: true})
		if err != nil {
			t.Fatal(err)
		}
		tokens := []string{text.Reveal(), docToken, login.Reveal(), person.Reveal()}
		for _, token := range tokens {
			if identity, err := service.VerifyToken(ctx, token); err != nil || identity.Organization != demoOrganization || !identity.Access.Full() {
				t.Errorf("%+v, %v", identity, err)
			}
		}
		// All tokens are listed once, whatever the page.
		var listed []uuid.UUID
		for offset := range 5 {
			page, err := service.ListTokens(ctx, demoOrganization, authmgmt.Paging{Offset: offset, Limit: 1, Total: true})
			if err != nil || page.Total != 4 || len(page.Items) != min(1, 4-offset) {
				t.Errorf("offset %d: %+v, %v", offset, page, err)
			}
			for _, token := range page.Items {
				listed = append(listed, token.ID)
			}
		}
		for limit := 1; limit <= 5; limit++ {
			page, err := service.ListTokens(ctx, demoOrganization, authmgmt.Paging{Limit: limit, Total: true})
			var ids []uuid.UUID
			for _, token := range page.Items {
				ids = append(ids, token.ID)
			}
			if err != nil || page.Total != 4 || !slices.Equal(ids, listed[:min(limit, 4)]) {
				t.Errorf("limit %d: %v of %v, %v", limit, ids, listed, err)
			}
		}
		for limit := 1; limit <= 5; limit++ {
			var ids []uuid.UUID
			for q := (authmgmt.Paging{Limit: limit}); ; {
				page, err := service.ListTokens(ctx, demoOrganization, q)
				if err != nil || page.Total != 0 {
					t.Fatalf("limit %d: %+v, %v", limit, page, err)
				}
				for _, token := range page.Items {
					ids = append(ids, token.ID)
				}
				if q.After = page.Next; q.After.IsZero() {
					break
				}
			}
			if !slices.Equal(ids, listed) {
				t.Errorf("by positions, limit %d: %v of %v", limit, ids, listed)
			}
		}
		stats, err := service.Stats(ctx, demoOrganization)
		if err != nil || stats.Tokens != (mortise.Count{N: 4}) || stats.Clients.N != 1 {
			t.Errorf("%+v, %v", stats, err)
		}
		kept, err := stored.ListTokens(ctx, demoOrganization, authmgmt.Paging{Limit: 10, Total: true})
		if err != nil || kept.Total != 3 || slices.ContainsFunc(kept.Items, func(t authmgmt.Token) bool { return t.ID == record.ID }) {
			t.Errorf("stored: %+v, %v", kept, err)
		}

		if err := service.RevokeToken(ctx, demoOrganization, provisioner, uuid.New()); !errors.Is(err, authmgmt.ErrNotFound) {
			t.Error(err)
		}
		for _, id := range listed {
			if err := service.RevokeToken(ctx, demoOrganization, provisioner, id); err != nil {
				t.Error(err)
			}
		}
		for i, token := range tokens {
			if _, err := service.VerifyToken(ctx, token); !errors.Is(err, authmgmt.ErrInvalidCredentials) {
				t.Error(fmt.Errorf("%d after it was revoked: %w", i, err))
			}
		}
	})
}
