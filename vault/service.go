package vault

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/uuid7"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Service hands out tokens. It is safe for concurrent use. It starts no goroutine but one
// in each Backfill and Rewrap, which ends before they return.
type Service struct {
	store     Store
	keyring   *safeKeyring
	tokenizer *safeTokenizer
	opts      Options
	ids       uuid7.Source
	vaults    vaultCache
	keys      keyState
}

// New returns a Service over a backend and a keyring. It fails if one of them is missing,
// or if a setting is below 0. Options may be nil.
func New(b Backend, keys keyring.Keyring, opts *Options) (*Service, error) {
	if err := errors.Join(b.validate(), opts.validate()); err != nil {
		return nil, err
	}
	if keys == nil {
		return nil, errors.New("vault: New needs a keyring")
	}
	s := &Service{store: b.Store, opts: opts.withDefaults()}
	s.keyring = &safeKeyring{keys, keys.Limits()}
	s.tokenizer = &safeTokenizer{s.opts.Tokenizer, s.opts.Tokenizer.Limits()}
	return s, nil
}

// Limits are the most that a Service takes at once.
type Limits struct {
	Items int // of one batch
	Value int // bytes of one value
}

// Limits returns the most that the service takes at once, see [Options].
func (s *Service) Limits() Limits { return Limits{Items: s.opts.MaxItems, Value: s.opts.MaxValue} }

// hosted reports whether calls under ctx are part of a transaction of the host's. What they
// see is not to be remembered: it may be rolled back.
func (s *Service) hosted(ctx context.Context) bool {
	store, ok := s.store.(mortise.HostTx)
	return ok && store.AfterCommit(ctx, nil)
}

// now returns the time with the precision that stores keep.
func (s *Service) now() time.Time { return s.opts.Now().UTC().Truncate(time.Microsecond) }

// Ping returns nil if the store and the keyring answer, and the keyring has the keys that
// the store needs.
func (s *Service) Ping(ctx context.Context) error {
	versions, err := s.versions(ctx)
	if err != nil {
		return err
	}
	if err := s.checkRequired(ctx, versions); err != nil {
		return err
	}
	_, err = s.store.Vault(ctx, "", "")
	if errors.Is(err, mortise.ErrNotFound) {
		return nil
	}
	return unavailable("ping", err)
}
