package vault

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/seed-6363c74e/mortise/internal/uuid7"
)

// Options are the optional parts and settings of a Service. The zero value means the defaults.
//
// A panic of what a host plugs in is recovered where it happens and logged with its stack
// at ERROR, without what it panicked with. That of a [Keyring], a [Tokenizer] or an
// [Allow] is answered like a keyring that is away ([ErrUnavailable]); that of an Observer
// changes nothing. Stores must not panic.
type Options struct {
	Tokenizer Tokenizer // &Formats{}
	MaxItems  int       // of one batch: 1000
	MaxValue  int       // bytes of one value: 64 KiB
	MaxShown  int       // bytes of all values that one detokenization shows: 4 MiB

	Now      func() time.Time // time.Now
	Rand     io.Reader        // for the IDs of audit events: crypto/rand.Reader; must be safe for concurrent use
	Observer Observer         // none
	Logger   *slog.Logger     // slog.Default()
}

// Service hands out tokens. It is safe for concurrent use and starts no goroutine.
type Service struct {
	store     Store
	keyring   *safeKeyring
	tokenizer *safeTokenizer
	opts      Options
	ids       uuid7.Source
	vaults    vaultCache
	keys      keyState
}

// New returns a Service over a store and a keyring.
func New(store Store, keyring Keyring, opts *Options) (s *Service, err error) {
	if store == nil || keyring == nil {
		return nil, errors.New("vault: New needs a store and a keyring")
	}
	s = &Service{store: store}
	if opts != nil {
		s.opts = *opts
	}
	o := &s.opts
	if o.Tokenizer == nil {
		o.Tokenizer = &Formats{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if s.keyring, err = newSafeKeyring(keyring, o.Logger); err != nil {
		return nil, fmt.Errorf("vault: ask for the limits: %w", err)
	}
	if s.tokenizer, err = newSafeTokenizer(o.Tokenizer, o.Logger); err != nil {
		return nil, fmt.Errorf("vault: ask for the limits: %w", err)
	}
	if o.MaxItems <= 0 {
		o.MaxItems = 1000
	}
	if o.MaxValue <= 0 {
		o.MaxValue = 64 << 10
	}
	if o.MaxShown <= 0 {
		o.MaxShown = 4 << 20
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return s, nil
}

// MaxItems returns how many items a batch may have.
func (s *Service) MaxItems() int { return s.opts.MaxItems }

// MaxValue returns how many bytes a value may have.
func (s *Service) MaxValue() int { return s.opts.MaxValue }

// now returns the time with the precision that stores keep.
func (s *Service) now() time.Time { return s.opts.Now().UTC().Truncate(time.Microsecond) }

// ceilMicro rounds a bound up to the precision of stored times, which selects the same events.
func ceilMicro(t time.Time) time.Time {
	if cut := t.Truncate(time.Microsecond); cut.Before(t) {
		t = cut.Add(time.Microsecond)
	}
	return t.UTC()
}

// Ping returns nil if the store and the keyring answer, and the keyring has the keys that the store needs.
func (s *Service) Ping(ctx context.Context) error {
	versions, err := s.versions(ctx)
	if err != nil {
		return err
	}
	if err := s.checkRequired(ctx, versions); err != nil {
		return err
	}
	_, err = s.store.Vault(ctx, "", "")
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return unavailable("ping", err)
}
