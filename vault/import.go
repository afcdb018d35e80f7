package vault

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// ImportItem is a value of a column, and the token that it has elsewhere. It names table
// and column, not a column group.
type ImportItem struct {
	Item
	Token string // 1 to 255 bytes of UTF-8, without U+0000
}

// errImportToken says what is wrong with an item that has no token.
var errImportToken = fmt.Errorf("%w: give it the token that it has, of 1 to 255 bytes of UTF-8, without U+0000", ErrInvalid)

// Import stores values under the tokens that they have elsewhere: in another vault
// service, say, whose tokens stand in tables that shall stay as they are. It stores all
// items or none, and writes an audit event with the tokens of all of them.
//
// A token must fit the format of its column, as [format.Tokenizer] says, and must not
// be the value itself. An item that is stored already is passed over, so a call whose
// answer was lost can be repeated; its audit event is written again. A value of a
// deterministic column has one token; one of a random column can have several.
//
// The error is a [*BatchError] if items are to blame, and says which ones: first those
// that Insert would refuse, then [format.ErrMismatch] for values or tokens that do not
// fit, then [ErrTokenConflict]. It is a [*TokenError] if what is stored under a token
// has to be compared and cannot be opened, [mortise.ErrNotFound] if there is no such
// vault, and [mortise.ErrUnavailable] if it is not known whether the items were stored.
//
// Whoever may import can find out whether a value that they guess has a token: a conflict
// says so, and success says which. They can also have the vault give out tokens of their
// own choice. So this is for those who may do everything. A host that offers it to others
// first asks their Access whether it allows access.ImportTokens on the vault.
func (s *Service) Import(ctx context.Context, org string, by mortise.Actor, vault string, items []ImportItem) error {
	start := s.start()
	err := s.importItems(ctx, org, by, vault, items)
	s.observe(ctx, start, mortise.Observation{Kind: mortise.KindImported, Organization: org, Object: vault, Actor: by, Items: len(items), Err: err})
	return err
}

func (s *Service) importItems(ctx context.Context, org string, by mortise.Actor, vault string, items []ImportItem) error {
	values, err := s.checkImport(items)
	if err != nil {
		return err
	}
	return s.withKeys(ctx, func(versions *keyring.Versions) error {
		return s.withVault(ctx, org, vault, func(k *knownVault) error {
			batches, err := resolveItems(k, org, vault, values, (*column).insertable)
			if err != nil {
				return err
			}
			if err := s.checkTokens(ctx, items, batches); err != nil {
				return err
			}
			in := importation{service: s, org: org, vault: vault}
			if err := in.add(ctx, versions, items, batches); err != nil {
				return err
			}
			return s.missing(ctx, versions, in.store(ctx, k, by))
		})
	})
}

// checkImport finds what is wrong with items whatever the vault is, and returns their
// values.
func (s *Service) checkImport(items []ImportItem) ([]Item, error) {
	values := make([]Item, len(items))
	for i := range items {
		values[i] = items[i].Item
	}
	if err := s.checkItems(values, true); err != nil {
		return nil, err
	}
	var errs itemErrors
	for i := range items {
		if name.Problem(items[i].Token) != "" {
			errs.add(i, errImportToken)
		}
	}
	return values, errs.err()
}

// checkTokens finds values and tokens that do not fit their columns.
func (s *Service) checkTokens(ctx context.Context, items []ImportItem, batches []*batch) error {
	pairs := make([]format.Pair, len(items))
	for _, b := range batches {
		for n, i := range b.items {
			pairs[i] = format.Pair{Field: b.column.Field, Value: b.values[n].Value, Token: items[i].Token}
		}
	}
	problems, err := s.tokenizer.CheckTokens(ctx, pairs)
	if err != nil {
		return unavailable("check tokens", err)
	}
	var errs itemErrors
	for i, err := range problems {
		if err != nil {
			errs.add(i, err)
		}
	}
	return errs.err()
}

// importation is the items of a call on their way into the store, each of them once.
type importation struct {
	service    *Service
	org, vault string
	rows       []importedRow
}

// importedRow is a value with its token. It may be of several items of the call.
type importedRow struct {
	Row
	batch *batch
	value Value
	items []int
}

// add makes rows of items. The error is [ErrTokenConflict] if items contradict each
// other.
func (in *importation) add(
	ctx context.Context, versions *keyring.Versions, items []ImportItem, batches []*batch,
) error {
	places := make([]place, len(items))
	for _, b := range batches {
		for n, i := range b.items {
			places[i] = place{b, n}
		}
	}
	type batchValue struct {
		batch *batch
		value string
	}
	byToken, byValue := make(map[string]int, len(items)), make(map[batchValue]int) // the rows
	var errs itemErrors
	for i, p := range places {
		b, token, value := p.batch, items[i].Token, p.batch.values[p.index].Value
		ofToken, tokenKnown := byToken[token]
		ofValue, valueKnown := byValue[batchValue{b, value.Reveal()}]
		switch {
		case tokenKnown && (in.rows[ofToken].batch != b || in.rows[ofToken].value.Reveal() != value.Reveal()):
			errs.add(i, in.rows[ofToken].contradicts("the same token for something else"))
		case tokenKnown:
			in.rows[ofToken].items = append(in.rows[ofToken].items, i)
		case valueKnown:
			errs.add(i, in.rows[ofValue].contradicts("another token for the same value"))
		default:
			byToken[token] = len(in.rows)
			if b.column.deterministic {
				byValue[batchValue{b, value.Reveal()}] = len(in.rows)
			}
			in.rows = append(in.rows, importedRow{
				Row: Row{Organization: in.org, Vault: in.vault, Token: token, Scope: b.scope.Name, Deterministic: b.column.deterministic,
					CreatedAt: in.service.now()},
				batch: b, value: value, items: []int{i},
			})
		}
	}
	if err := errs.err(); err != nil {
		return err
	}
	return in.fingerprint(ctx, versions)
}

// contradicts says that an item contradicts an earlier one of the call.
func (r *importedRow) contradicts(how string) error {
	return fmt.Errorf("%w: item %d has %s", ErrTokenConflict, r.items[0], how)
}

// fingerprint computes the fingerprints of the rows that have some, of all versions.
func (in *importation) fingerprint(ctx context.Context, versions *keyring.Versions) error {
	var items []keyring.FingerprintItem
	for i := range in.rows {
		if r := &in.rows[i]; r.Deterministic {
			items = append(items, keyring.FingerprintItem{Scope: r.scope(), Value: r.value})
		}
	}
	if len(items) == 0 {
		return nil
	}
	of := make([]keyring.Fingerprint, len(items))
	for _, version := range fingerprintVersions(versions) {
		if err := in.service.keyring.Fingerprint(ctx, version, items, of); err != nil {
			return unavailable("compute fingerprints", err)
		}
		n := 0
		for i := range in.rows {
			if r := &in.rows[i]; r.Deterministic {
				r.Fingerprints = append(r.Fingerprints, VersionedFingerprint{version, of[n]})
				n++
			}
		}
	}
	return nil
}

// store stores the rows as they are beside what is there, and looks again when that has
// changed meanwhile.
func (in *importation) store(ctx context.Context, k *knownVault, by mortise.Actor) error {
	s := in.service
	e, err := s.event(in.org, in.vault, mortise.KindImported, by)
	if err != nil {
		return err
	}
	for i := range in.rows {
		e.Tokens = append(e.Tokens, AuditToken{Token: in.rows[i].Token, Scope: in.rows[i].Scope})
	}
	there, err := in.read(ctx)
	const tries = 10 // as long as others change just these tokens, and just now
	for try := 0; err == nil && try < tries; try++ {
		var rows []Row
		if rows, err = in.beside(ctx, there); err != nil {
			return err
		}
		err = s.store.ImportTokens(ctx, in.org, in.vault, k.revision, rows, e)
		var taken *TakenError
		conflict := errors.As(err, &taken) && len(taken.Rows) > 0
		if !conflict && !errors.Is(err, keyring.ErrRetired) {
			return unavailable("import values", ofVault(in.vault, err))
		}
		before, refused := there, err
		there, err = in.read(ctx)
		switch {
		case err != nil:
		case conflict && unchanged(taken.Rows, before, there):
			return in.conflicts(taken.Rows, there)
		case !conflict && unchanged(in.all(), before, there):
			// Else the key may be that of a row that was there.
			return refused
		}
	}
	if err == nil {
		err = fmt.Errorf("%w: others change the tokens of the import without end", mortise.ErrUnavailable)
	}
	return err
}

// read returns what is stored under the tokens of the rows.
func (in *importation) read(ctx context.Context) ([]Row, error) {
	tokens := make([]string, len(in.rows))
	for i := range in.rows {
		tokens[i] = in.rows[i].Token
	}
	there, err := in.service.store.Rows(ctx, in.org, in.vault, tokens)
	if err == nil {
		err = answered("the store", len(there), len(tokens))
	}
	return there, unavailable("read tokens", ofVault(in.vault, err))
}

// all returns the numbers of all rows.
func (in *importation) all() []int {
	all := make([]int, len(in.rows))
	for i := range all {
		all[i] = i
	}
	return all
}

// unchanged reports whether some rows are stored as they were before. Their ciphertexts
// say all, for each was sealed for its token and scope.
func unchanged(which []int, before, after []Row) bool {
	for _, i := range which {
		if !bytes.Equal(before[i].Sealed.Ciphertext, after[i].Sealed.Ciphertext) {
			return false
		}
	}
	return true
}

// beside returns the rows to store: those that are there as they are there, and the
// others sealed anew. The store refuses what it has otherwise.
func (in *importation) beside(ctx context.Context, there []Row) ([]Row, error) {
	same, err := in.compare(ctx, there)
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(in.rows))
	var items []keyring.SealItem
	for i := range in.rows {
		r := &in.rows[i]
		if rows[i] = r.Row; same[i] {
			rows[i].Sealed = there[i].Sealed
		} else {
			items = append(items, keyring.SealItem{Scope: r.scope(), Token: r.Token, Value: r.value})
		}
	}
	sealed, err := in.service.keyring.Seal(ctx, items)
	if err != nil {
		return nil, unavailable("seal values", err)
	}
	n := 0
	for i := range rows {
		if !same[i] {
			rows[i].Sealed = sealed[n].Sealed
			n++
		}
	}
	return rows, nil
}

// compare opens what is stored under the tokens of rows in their scopes, and reports
// which of it is their values.
func (in *importation) compare(ctx context.Context, there []Row) (same []bool, err error) {
	var items []keyring.OpenItem
	var of []int // the row of each
	for i := range in.rows {
		if r, t := &in.rows[i], &there[i]; t.Token == r.Token && t.Scope == r.Scope && t.Deterministic == r.Deterministic {
			items, of = append(items, t.open()), append(of, i)
		}
	}
	same = make([]bool, len(in.rows))
	opened, err := in.service.open(ctx, items)
	if err != nil {
		return nil, err
	}
	var corrupt, unknown itemErrors
	for n, i := range of {
		switch r, o := &in.rows[i], &opened[n]; {
		case errors.Is(o.Err, keyring.ErrCorrupt):
			corrupt.addAll(r.items, o.Err)
		case o.Err != nil:
			unknown.addAll(r.items, o.Err)
		default:
			same[i] = subtle.ConstantTimeCompare([]byte(o.Value.Reveal()), []byte(r.value.Reveal())) == 1
		}
	}
	for _, errs := range []*itemErrors{&corrupt, &unknown} {
		errs.sort()
		if err := errs.err(); err != nil {
			return nil, err
		}
	}
	return same, nil
}

// The ways in which the store contradicts an item.
var (
	errTokenTaken = fmt.Errorf("%w: the token stands for something else", ErrTokenConflict)
	errValueTaken = fmt.Errorf("%w: the value has another token, or the token was deleted", ErrTokenConflict)
	errDeleted    = fmt.Errorf("%w: the token was deleted", ErrTokenConflict)
)

// conflicts is the error of the items of some rows.
func (in *importation) conflicts(which []int, there []Row) error {
	var errs itemErrors
	for _, i := range which {
		err := errValueTaken
		switch {
		case there[i].Token != "":
			err = errTokenTaken
		case !in.rows[i].Deterministic: // its value can have several
			err = errDeleted
		}
		errs.addAll(in.rows[i].items, err)
	}
	errs.sort()
	return errs.err()
}
