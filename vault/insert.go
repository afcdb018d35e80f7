package vault

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Insert stores values and returns a token for each, in their order. A value of a
// deterministic column that is there already keeps its token, whoever else inserts it at
// the same time, on this machine or another one. A value of a random column gets a new
// one each time.
//
// It stores all items or none. The error is a [*BatchError] if items are to blame, and
// says which ones. The error is [mortise.ErrNotFound] if there is no such vault.
func (s *Service) Insert(ctx context.Context, org string, by mortise.Actor, vault string, items []Item) ([]string, error) {
	start := s.start()
	tokens, err := s.insert(ctx, org, vault, items)
	s.observe(ctx, start, mortise.Observation{Kind: mortise.KindInserted, Organization: org, Object: vault, Actor: by, Items: len(items), Err: err})
	return tokens, err
}

func (s *Service) insert(ctx context.Context, org, vault string, items []Item) (tokens []string, err error) {
	if err := s.checkItems(items, true); err != nil {
		return nil, err
	}
	err = s.withKeys(ctx, func(versions *keyring.Versions) error {
		return s.withVault(ctx, org, vault, func(k *knownVault) error {
			batches, err := resolveItems(k, org, vault, items, (*column).insertable)
			if err != nil {
				return err
			}
			var failed error
			if tokens, failed = s.insertBatches(ctx, k, versions, batches, len(items), nil); !withoutLook(batches, failed) {
				return failed
			}
			if batches, err = resolveItems(k, org, vault, items, (*column).insertable); err != nil {
				return err
			}
			tokens, err = s.insertBatches(ctx, k, versions, batches, len(items), failed)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return tokens, nil
}

// insertBatches inserts the n values of a call. failed is the error of a first try: if that
// was for want of the store or of a key service, what is new has it, too, without another
// wait.
func (s *Service) insertBatches(
	ctx context.Context, k *knownVault, versions *keyring.Versions, batches []*batch, n int, failed error,
) ([]string, error) {
	var unknown, assumed []*batch // of deterministic columns
	for _, b := range batches {
		switch {
		case b.column.deterministic && !b.column.novelty.assumed():
			unknown = append(unknown, b)
			continue
		case b.column.deterministic:
			b.assumed = true
			assumed = append(assumed, b)
		}
		b.tokens = make([]string, len(b.values))
	}
	if len(unknown) > 0 {
		if err := s.find(ctx, k, versions, unknown); err != nil {
			return nil, err
		}
	}
	if len(assumed) > 0 {
		if err := s.fingerprint(ctx, fingerprintVersions(versions), assumed); err != nil {
			return nil, err
		}
	}
	for _, b := range unknown {
		b.known = slices.ContainsFunc(b.tokens, func(token string) bool { return token != "" })
	}
	in := insertion{service: s}
	in.add(versions, batches)
	if len(in.rows) > 0 && errors.Is(failed, mortise.ErrUnavailable) {
		return nil, failed
	}
	if err := in.store(ctx, k); err != nil {
		return nil, s.missing(ctx, versions, err)
	}
	tokens := make([]string, n)
	for _, b := range batches {
		for i, token := range b.tokens {
			tokens[b.items[i]] = token
		}
		if b.column.deterministic {
			b.column.novelty.note(!b.known)
		}
	}
	return tokens, nil
}

// withoutLook reports whether an insertion failed that took values for new ones, and has
// it look from now on. What is there is found though it has no token in the shape of
// today, or though a key is not loaded, or the disk is full. After a store that gave no
// answer in time there is no second try: a look may find what that is about to lose.
func withoutLook(batches []*batch, err error) bool {
	if err == nil || errors.Is(err, ErrConflict) {
		return false
	}
	assumed := false
	for _, b := range batches {
		if b.assumed {
			assumed = true
			b.column.novelty.note(false)
		}
	}
	return assumed && !errors.Is(err, context.DeadlineExceeded)
}

// insertion is the new values of a call on their way into the store.
type insertion struct {
	service *Service
	rows    []newRow
}

// newRow is a value that has no token yet. It may stand at several places of the call.
type newRow struct {
	Row
	value  Value
	places []place
}

// place is where a value stands.
type place struct {
	batch *batch
	index int
}

// add makes rows of the values that have no token, one of each value that is the same.
func (in *insertion) add(versions *keyring.Versions, batches []*batch) {
	all := fingerprintVersions(versions)
	for _, b := range batches {
		rows := make(map[string]int) // of the batch, by value
		for i, token := range b.tokens {
			if token != "" {
				continue
			}
			at, known := 0, false
			if b.column.deterministic {
				at, known = rows[b.values[i].Value.Reveal()]
			}
			if !known {
				at = len(in.rows)
				in.rows = append(in.rows, newRow{
					Row: Row{Organization: b.scope.Organization, Vault: b.scope.Vault, Scope: b.scope.Name, Deterministic: b.column.deterministic,
						CreatedAt: in.service.now()},
					value: b.values[i].Value,
				})
			}
			r := &in.rows[at]
			if b.column.deterministic && !known {
				rows[b.values[i].Value.Reveal()] = at
				r.Fingerprints = make([]VersionedFingerprint, len(all))
				for n, version := range all {
					r.Fingerprints[n] = VersionedFingerprint{version, b.fingerprints[n][i]}
				}
			}
			r.places = append(r.places, place{b, i})
		}
	}
}

// maxAttempts bounds how often tokens are made for a row. In a shape that is half full,
// one in 2^64 rows needs as many.
const maxAttempts = 64

// store gives the rows tokens and stores them, with other tokens as long as some are
// taken.
func (in *insertion) store(ctx context.Context, k *knownVault) error {
	if len(in.rows) == 0 {
		return nil
	}
	again := make([]int, len(in.rows)) // the rows that need another token
	for i := range again {
		again[i] = i
	}
	for attempt := 0; ; attempt++ {
		if err := in.makeTokens(ctx, again, attempt); err != nil {
			return err
		}
		rows := make([]Row, len(in.rows))
		for i := range in.rows {
			rows[i] = in.rows[i].Row
		}
		tokens, err := in.service.store.InsertTokens(ctx, rows[0].Organization, rows[0].Vault, k.revision, rows)
		var taken *TakenError
		switch {
		case errors.As(err, &taken) && len(taken.Rows) > 0:
			again = taken.Rows
		case err != nil:
			return unavailable("insert values", ofVault(rows[0].Vault, err))
		default:
			if err := answered("the store", len(tokens), len(rows)); err != nil {
				return err
			}
			for i := range in.rows {
				r := &in.rows[i]
				for _, p := range r.places {
					p.batch.tokens[p.index] = tokens[i]
					p.batch.known = p.batch.known || tokens[i] != r.Token
				}
			}
			return nil
		}
	}
}

// makeTokens gives some rows new tokens, and seals their values for them.
func (in *insertion) makeTokens(ctx context.Context, which []int, attempt int) error {
	tokens, err := in.newTokens(ctx, which, attempt)
	if err != nil {
		return err
	}
	var errs itemErrors
	for n, i := range which {
		r := &in.rows[i]
		if r.Token = tokens[n].Token; tokens[n].Err != nil {
			for _, p := range r.places {
				errs.add(p.batch.items[p.index], tokens[n].Err)
			}
		}
	}
	errs.sort()
	if err := errs.err(); err != nil {
		return err
	}
	items := make([]keyring.SealItem, len(which))
	for n, i := range which {
		r := &in.rows[i]
		items[n] = keyring.SealItem{Scope: r.scope(), Token: r.Token, Value: r.value}
	}
	sealed, err := in.service.keyring.Seal(ctx, items)
	if err != nil {
		return unavailable("seal values", err)
	}
	for n, i := range which {
		in.rows[i].Sealed = sealed[n].Sealed
	}
	return nil
}

// newTokens asks for tokens for some rows.
func (in *insertion) newTokens(ctx context.Context, which []int, attempt int) ([]format.Result, error) {
	if attempt == maxAttempts {
		return slices.Repeat([]format.Result{{Err: format.ErrExhausted}}, len(which)), nil
	}
	requests := make([]format.Request, len(which))
	for n, i := range which {
		r := &in.rows[i]
		requests[n] = format.Request{Field: r.places[0].batch.column.Field, Value: r.value, Attempt: attempt}
	}
	tokens, err := in.service.tokenizer.Tokens(ctx, requests)
	return tokens, unavailable("make tokens", err)
}
