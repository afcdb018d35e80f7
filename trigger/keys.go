package trigger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/secret"
)

// APIKey is what is kept of an organization's key. The key itself is shown once, by
// [Service.IssueKey].
type APIKey struct {
	ID           uuid.UUID
	Organization string
	Name         string   // the holder's own word for it, "" for none
	Digest       [32]byte // SHA-256 of the key
	CreatedAt    time.Time
	RevokedAt    time.Time // zero: not revoked
	LastUsedAt   time.Time // to within a minute or two; zero: never
}

// errNoKeys: the service was made without Keys.
var errNoKeys = fmt.Errorf("trigger: the service was made without Backend.Keys: %w", errors.ErrUnsupported)

// IssueKey makes a new API key and returns its record and the key itself, which cannot be
// had again. An organization may hold any number of keys, a deleted one none:
// [mortise.ErrDeleted].
func (s *Service) IssueKey(
	ctx context.Context, org string, by mortise.Actor, name string,
) (record APIKey, key mortise.Secret, err error) {
	text, err := secret.Issue(s.opts.Rand, "sk-")
	if err != nil {
		return APIKey{}, mortise.Secret{}, failure.Unavailable("issue key", err)
	}
	if record, err = s.ImportKey(ctx, org, by, name, text); err != nil {
		return APIKey{}, mortise.Secret{}, err
	}
	return record, mortise.NewSecret(text), nil
}

// ImportKey stores a key that was made elsewhere, of 32 to 1024 bytes, of which at
// least 10 are different. If it is stored already, the error is [mortise.ErrExists]; in
// an organization that was deleted it is [mortise.ErrDeleted].
func (s *Service) ImportKey(ctx context.Context, org string, by mortise.Actor, name, key string) (APIKey, error) {
	if s.keys == nil {
		return APIKey{}, errNoKeys
	}
	var p failure.Problems
	p.Name("organization", org)
	if name != "" {
		p.Name("name", name)
	}
	if problem := secret.ImportProblem(key); problem != "" {
		p.Add("key", "%s", problem)
	}
	if err := p.Err(); err != nil {
		return APIKey{}, err
	}
	now := s.now()
	id, err := s.newID(now)
	if err != nil {
		return APIKey{}, failure.Unavailable("read randomness", err)
	}
	k := APIKey{ID: id, Organization: org, Name: name, Digest: secret.Sum(key), CreatedAt: now}
	if err := s.keys.CreateKey(ctx, k); errors.Is(err, mortise.ErrExists) {
		return APIKey{}, mortise.ErrExists
	} else if err != nil {
		return APIKey{}, failure.Unavailable("store key", err)
	}
	s.observe(ctx, mortise.Observation{Kind: mortise.KindKeyIssued, Organization: org, Actor: by, Object: id.String()})
	return k, nil
}

// RevokeKey ends a key: the next request with it is refused. Revoking twice is not an
// error and keeps the first time.
func (s *Service) RevokeKey(ctx context.Context, org string, by mortise.Actor, id uuid.UUID) error {
	if s.keys == nil {
		return errNoKeys
	}
	now := s.now()
	revoked := false
	err := s.keys.UpdateKey(ctx, org, id, func(k *APIKey) error {
		if revoked = k.RevokedAt.IsZero(); revoked {
			k.RevokedAt = now
		}
		return nil
	})
	if err == nil && revoked {
		s.observe(ctx, mortise.Observation{Kind: mortise.KindKeyRevoked, Organization: org, Actor: by, Object: id.String()})
	}
	return failure.Unavailable("revoke key", err)
}

// FindKey returns the record of a key, revoked or not, or [mortise.ErrNotFound].
func (s *Service) FindKey(ctx context.Context, key string) (APIKey, error) {
	if s.keys == nil {
		return APIKey{}, errNoKeys
	}
	if len(key) > secret.MaxLength {
		return APIKey{}, mortise.ErrNotFound
	}
	digest := secret.Sum(key)
	k, err := s.keys.KeyByDigest(ctx, digest)
	if err != nil {
		return APIKey{}, failure.Unavailable("look up key", err)
	}
	if !secret.Equal(k.Digest, digest) {
		return APIKey{}, mortise.ErrNotFound
	}
	return k, nil
}

// VerifyKey returns the record of a key that is valid now. An unknown and a revoked key
// are both [ErrInvalidKey]. Its use is noted, and written to the store by the sweeper, at
// most once a minute.
func (s *Service) VerifyKey(ctx context.Context, key string) (APIKey, error) {
	k, err := s.FindKey(ctx, key)
	if errors.Is(err, mortise.ErrNotFound) || err == nil && !k.RevokedAt.IsZero() {
		return APIKey{}, ErrInvalidKey
	}
	if err != nil {
		return APIKey{}, err
	}
	s.noteUse(&k)
	return k, nil
}

// keyUse is the last use of a key that is not in the store yet.
type keyUse struct {
	org     string
	at      time.Time
	pending bool // not written yet
}

// useEvery is how often the last use of one key is written.
const useEvery = time.Minute

func (s *Service) noteUse(k *APIKey) {
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	u, noted := s.lastUse[k.ID]
	if !(noted && u.pending) && (now.Sub(u.at) < useEvery || now.Sub(k.LastUsedAt) < useEvery) {
		return
	}
	s.lastUse[k.ID] = keyUse{org: k.Organization, at: now, pending: true}
}

// FlushKeyUse writes the noted uses of API keys. The [Sweeper] calls it, also when it ends.
// A host that runs none calls it itself.
func (s *Service) FlushKeyUse(ctx context.Context) error {
	now := s.now()
	due := make(map[uuid.UUID]keyUse)
	s.mu.Lock()
	for id, u := range s.lastUse {
		switch {
		case u.pending:
			due[id] = u
		case now.Sub(u.at) >= useEvery:
			delete(s.lastUse, id)
		}
	}
	s.mu.Unlock()

	for id, u := range due {
		err := s.keys.UpdateKey(ctx, u.org, id, func(k *APIKey) error {
			if u.at.After(k.LastUsedAt) {
				k.LastUsedAt = u.at
			}
			return nil
		})
		if err != nil && !errors.Is(err, mortise.ErrNotFound) {
			return failure.Unavailable("write last use of a key", err)
		}
		s.mu.Lock()
		if s.lastUse[id] == u { // else it was used again meanwhile, and that use is still to be written
			u.pending = false
			s.lastUse[id] = u
		}
		s.mu.Unlock()
	}
	return nil
}
