package main

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-6363c74e/mortise/trigger"
)

// lateKeys are keys to which another server adds one after the document was checked.
type lateKeys struct {
	trigger.Keys
	asked int
}

func (l *lateKeys) KeyByDigest(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
	if l.asked++; l.asked <= 2 { // by the check, and before the import
		return trigger.APIKey{}, trigger.ErrNotFound
	}
	return l.Keys.KeyByDigest(ctx, digest)
}

// TestProvisioningForeignKeyMeanwhile: a contradiction that was not there when the document was checked reads like one that was.
func TestProvisioningForeignKeyMeanwhile(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		if err := apply(t, s, `{"organizations":[{"id":"acme","api_keys":[{"key":"`+docKey+`"}]}]}`); err != nil {
			t.Fatal(err)
		}
		b.trigger.keys = &lateKeys{Keys: b.trigger.keys}
		s, err := wire(testSettings(), b, testKey(), discard())
		if err != nil {
			t.Fatal(err)
		}
		err = apply(t, s, `{"organizations":[{"id":"evil","api_keys":[{"key":"`+docKey+`","revoked":true}]}]}`)
		var usage *usageError
		const want = "-config: acme.json: line 1, column 44: organizations[0].api_keys[0]: this API key belongs to another organization"
		if !errors.As(err, &usage) || err.Error() != want {
			t.Errorf("got %v", err)
		}
		if _, err := s.trigger.service.VerifyKey(t.Context(), docKey); err != nil {
			t.Errorf("another organization's key was revoked: %v", err)
		}
	})
}
