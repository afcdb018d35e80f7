package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// The demo's organization, and its one doc collection.
const demoOrganization = "demo"

var demoCollection = uuid.MustParse("5c1d3a52-8f0e-4b0f-9d35-6f3f1f0f4a01")

// demoKeys has the demo's API key in memory, in front of the keys of the storage. So it
// ends with the process, however that ends: no start has to look for what an earlier one
// left behind, and of two demos on the same data neither ends the other's key.
type demoKeys struct {
	own, stored trigger.APIKeys
}

// addDemoCredentials puts demoKeys and demoTokens in front of a storage.
func addDemoCredentials(ctx context.Context, b *backends) error {
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return fmt.Errorf("open memory: %w", err)
	}
	b.trigger.Keys = &demoKeys{own: db.Trigger().Keys, stored: b.trigger.Keys}
	b.authmgmt.Store = &demoTokens{credentialStore: b.authmgmt.Store.(credentialStore), own: db.AuthMgmt().Store}
	return nil
}

// CreateKey implements [trigger.APIKeys]. Without a provisioning document there are no
// keys to store but the demo's.
func (d *demoKeys) CreateKey(ctx context.Context, k trigger.APIKey) error {
	return d.own.CreateKey(ctx, k)
}

// KeyByDigest implements [trigger.APIKeys].
func (d *demoKeys) KeyByDigest(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
	k, err := d.own.KeyByDigest(ctx, digest)
	if errors.Is(err, trigger.ErrNotFound) {
		return d.stored.KeyByDigest(ctx, digest)
	}
	return k, err
}

// UpdateKey implements [trigger.APIKeys].
func (d *demoKeys) UpdateKey(ctx context.Context, org string, id uuid.UUID, update func(*trigger.APIKey) error) error {
	err := d.own.UpdateKey(ctx, org, id, update)
	if errors.Is(err, trigger.ErrNotFound) {
		return d.stored.UpdateKey(ctx, org, id, update)
	}
	return err
}

// MarkDeleted implements [trigger.Deletion].
func (d *demoKeys) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	if _, err := d.own.MarkDeleted(ctx, org, at); err != nil {
		return time.Time{}, err
	}
	return d.stored.MarkDeleted(ctx, org, at)
}

// RemoveDeleted implements [trigger.Deletion].
func (d *demoKeys) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	own, err := d.own.RemoveDeleted(ctx, org, limit)
	if err != nil {
		return false, err
	}
	stored, err := d.stored.RemoveDeleted(ctx, org, limit)
	return own || stored, err
}

// ListKeys implements [trigger.APIKeys].
func (d *demoKeys) ListKeys(ctx context.Context, org string, q trigger.KeyQuery) (mortise.Page[trigger.APIKey], error) {
	page, err := d.stored.ListKeys(ctx, org, q)
	if err != nil {
		return mortise.Page[trigger.APIKey]{}, err
	}
	own, err := d.own.ListKeys(ctx, org, q)
	if err != nil {
		return mortise.Page[trigger.APIKey]{}, err
	}
	more := !page.Next.IsZero() || !own.Next.IsZero()
	all := append(page.Items, own.Items...)
	slices.SortFunc(all, func(a, b trigger.APIKey) int { return a.Position().Compare(b.Position()) })
	page = mortise.Page[trigger.APIKey]{Items: all[:min(len(all), max(q.Limit, 0))]}
	if n := len(page.Items); n > 0 && (more || n < len(all)) {
		page.Next = page.Items[n-1].Position()
	}
	return page, nil
}

// demoPlace is where the demo can be reached, where it keeps its data, and whether it has
// a sound model.
type demoPlace struct {
	URL   string
	Docs  bool
	Kept  string
	Model bool
}

// startDemo provisions the demo with a fresh API key and a fresh access token, and prints
// commands that use them. It is the only time that these are shown.
func startDemo(ctx context.Context, stdout io.Writer, s *services, place demoPlace) error {
	err := s.trigger.service.UpdateOrganization(ctx, demoOrganization, "demo", func(o *trigger.Organization) error {
		o.SetupComplete = true
		o.SetCollection(demoCollection, true)
		return nil
	})
	if err != nil {
		return fmt.Errorf("provision the demo: %w", err)
	}
	if err := s.authmgmt.service.SetRBAC(ctx, demoOrganization, provisioner, true); err != nil {
		return fmt.Errorf("provision the demo: %w", err)
	}
	if err := s.vault.provisionDemoVault(ctx); err != nil {
		return fmt.Errorf("provision the demo: %w", err)
	}
	if err := s.audio.provisionDemoSounds(ctx); err != nil {
		return fmt.Errorf("provision the demo: %w", err)
	}
	_, key, err := s.trigger.service.IssueKey(ctx, demoOrganization, "demo", "demo")
	if err != nil {
		return fmt.Errorf("issue the demo's API key: %w", err)
	}
	record, token, err := s.authmgmt.service.IssueToken(ctx, demoOrganization, provisioner, authmgmt.NewToken{
		Subject: demoSubject, FullAccess: true, Lifetime: tokenLifetime,
	})
	if err != nil {
		return fmt.Errorf("issue the demo's access token: %w", err)
	}
	id := record.ID.String()
	return demoText.Execute(stdout, demoPage{place, key.Reveal(), token.Reveal(), id[len(id)-8:]})
}
