package vault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// keyState remembers which versions of the keyring's keys have been compared with those
// of the store.
type keyState struct {
	checked atomic.Pointer[keyring.Versions]
}

// versions returns the keyring's versions. When they are new to the service, it first
// makes sure that each is the key that the store knows by that number: with another one,
// no value would be found, and each would get a second token.
func (s *Service) versions(ctx context.Context) (*keyring.Versions, error) {
	v, err := s.keyring.Versions(ctx)
	if err != nil {
		return nil, unavailable("ask the keyring for its versions", err)
	}
	return s.checked(ctx, &v)
}

// checked returns versions that have been compared with the store's.
func (s *Service) checked(ctx context.Context, v *keyring.Versions) (*keyring.Versions, error) {
	if known := s.keys.checked.Load(); known != nil && sameVersions(known, v) {
		return known, nil
	}
	own := *v
	own.Lookup = slices.Clone(v.Lookup)
	if err := s.checkKeys(ctx, &own); err != nil {
		return nil, err
	}
	if !s.hosted(ctx) {
		s.keys.checked.Store(&own)
	}
	return &own, nil
}

// withKeys calls do with the keyring's versions, and again if it fails for want of a key
// while the keyring is given others: a host may replace the keys of a service that runs,
// and an operation must not be lost between the two.
func (s *Service) withKeys(ctx context.Context, do func(*keyring.Versions) error) error {
	const tries = 3
	for try := 1; ; try++ {
		before, err := s.keyring.Versions(ctx)
		if err != nil {
			return unavailable("ask the keyring for its versions", err)
		}
		versions, err := s.checked(ctx, &before)
		if err == nil {
			err = do(versions)
		}
		if err == nil || try == tries || !errors.Is(err, keyring.ErrUnknownKey) && !errors.Is(err, keyring.ErrRetired) {
			return err
		}
		if after, failed := s.keyring.Versions(ctx); failed != nil || sameVersions(&after, &before) {
			return err
		}
	}
}

// CheckKeys returns [keyring.ErrWrongKey] if the store was begun with another key of the
// same version, [keyring.ErrRetired] if the keyring would use a version that is retired,
// and [keyring.ErrUnknownKey] if it lacks one that every insertion needs. On a new store
// it notes which keys these are, as values that the keys cannot be had from. The other
// methods do the same when they first see a version, so a host need not call it; at its
// start it learns sooner.
func (s *Service) CheckKeys(ctx context.Context) error {
	v, err := s.keyring.Versions(ctx)
	if err != nil {
		return unavailable("ask the keyring for its versions", err)
	}
	return s.checkKeys(ctx, &v)
}

// checkScope is where the values that tell keys apart have their fingerprints. It is no
// vault's: those have names.
var checkScope = keyring.Scope{Name: "mortise key check v1"}

func (s *Service) checkKeys(ctx context.Context, v *keyring.Versions) error {
	for _, version := range fingerprintVersions(v) {
		var check [1]keyring.Fingerprint
		empty := []keyring.FingerprintItem{{Scope: checkScope, Value: NewValue("")}}
		if err := s.keyring.Fingerprint(ctx, version, empty, check[:]); err != nil {
			return unavailable("compute a key's check value", err)
		}
		key := keyring.Key{Purpose: keyring.FingerprintKey, Version: version, Check: check[0]}
		stored, err := s.store.RegisterKey(ctx, key)
		switch {
		case err != nil:
			return unavailable("compare a key", err)
		case !stored.Check.Equal(check[0]):
			return fmt.Errorf("fingerprint key of version %d: %w", version, keyring.ErrWrongKey)
		case stored.Retired && version == v.Fingerprint:
			return fmt.Errorf("primary fingerprint key of version %d: %w", version, keyring.ErrRetired)
		}
	}
	stored, err := s.store.RegisterKey(ctx, keyring.Key{Purpose: keyring.SealKey, Version: v.Seal})
	switch {
	case err != nil:
		return unavailable("compare a key", err)
	case stored.Retired:
		return fmt.Errorf("seal key of version %d: %w", v.Seal, keyring.ErrRetired)
	}
	return s.checkRequired(ctx, v)
}

// checkRequired returns [keyring.ErrUnknownKey] if the keyring lacks a version that every
// insertion has a fingerprint of. Then what it does not find may well be there.
func (s *Service) checkRequired(ctx context.Context, v *keyring.Versions) error {
	keys, err := s.store.Keys(ctx)
	if err != nil {
		return unavailable("compare the keys", err)
	}
	loaded := fingerprintVersions(v)
	for _, k := range keys {
		if k.Required && !slices.Contains(loaded, k.Version) {
			return fmt.Errorf("fingerprint key of version %d: %w", k.Version, keyring.ErrUnknownKey)
		}
	}
	return nil
}

// missing names the version for want of which a store has refused rows: its error does
// not.
func (s *Service) missing(ctx context.Context, v *keyring.Versions, err error) error {
	if !errors.Is(err, keyring.ErrUnknownKey) {
		return err
	}
	if named := s.checkRequired(ctx, v); errors.Is(named, keyring.ErrUnknownKey) {
		return named
	}
	return err
}

// fingerprintVersions returns the primary version and the others.
func fingerprintVersions(v *keyring.Versions) []int { return append([]int{v.Fingerprint}, v.Lookup...) }

func sameVersions(a, b *keyring.Versions) bool {
	return a.Fingerprint == b.Fingerprint && a.Seal == b.Seal && slices.Equal(a.Lookup, b.Lookup)
}
