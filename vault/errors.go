package vault

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// The errors of the package, beside each [Reason], [mortise.ErrNotFound], [mortise.ErrExists],
// [mortise.ErrDeleted] and [mortise.ErrUnavailable]. Callers tell them apart by errors.Is.
// Most name their vault in their text; none holds a value.
var (
	// ErrScopeInUse: a change of the schema would take values away from their tokens.
	ErrScopeInUse = errors.New("vault: the column has tokens")
	// ErrFull: the store keeps no more for the organization. Delete tokens that are not
	// needed.
	ErrFull = errors.New("vault: the store keeps no more for this organization")
)

// Reason is why a batch is refused, or an item of one. It is an error: errors.Is compares
// it with one of those below, errors.As finds whichever it is, for a switch. Most come in
// an [ItemError], with a text that names the table, column or group.
type Reason string

// The reasons. Those whose names end in NotFound are [mortise.ErrNotFound] as well.
const (
	// ErrTableNotFound: the vault's schema has no such table.
	ErrTableNotFound Reason = "vault: no such table"
	// ErrColumnNotFound: the table has no such column.
	ErrColumnNotFound Reason = "vault: no such column"
	// ErrGroupNotFound: no column of the vault is in this column group.
	ErrGroupNotFound Reason = "vault: no such column group"
	// ErrValueNotFound: the value was never inserted into this scope, or was deleted.
	// Insert it.
	ErrValueNotFound Reason = "vault: the value has no token"
	// ErrTokenNotFound: the vault has no such token, or it was deleted.
	ErrTokenNotFound Reason = "vault: no such token"
	// ErrNotDeterministic: a value of this column cannot be asked for its token. Keep the
	// token that the insertion returned.
	ErrNotDeterministic Reason = "vault: the column is not deterministic"
	// ErrNotTokenized: the column has no tokenization, so the vault keeps nothing of it.
	// Leave the value out, and keep it in a table of yours.
	ErrNotTokenized Reason = "vault: the column has no tokenization"
	// ErrInvalid: a batch or an item is not well formed. The batch is empty or over
	// Options.MaxItems; or the item has no value or no place, has a value over
	// Options.MaxValue, or names a redaction that does not exist; or a RedactionPolicy
	// returned such a one.
	ErrInvalid Reason = "vault: the item is not well formed"
	// ErrTooMuch: the values of a detokenization are over Options.MaxShown together. Ask
	// for fewer tokens.
	ErrTooMuch Reason = "vault: the values are too long together"
	// ErrForbidden: the caller may not see this much of the value.
	ErrForbidden Reason = "vault: the redaction shows more than the caller may see"
	// ErrTokenConflict: a value cannot be imported under its token. The token stands for
	// another value or another column, or was deleted; or the value, of a deterministic
	// column, has another token; or two items of the call contradict each other. Nothing
	// was imported. Leave the item out, and replace its token, where you keep it, by one
	// that Insert gives.
	ErrTokenConflict Reason = "vault: the token and its value contradict what is stored"
)

// Error says what is wrong.
func (r Reason) Error() string { return string(r) }

// Unwrap returns [mortise.ErrNotFound] for what is not there, else nil.
func (r Reason) Unwrap() error {
	switch r {
	case ErrTableNotFound, ErrColumnNotFound, ErrGroupNotFound, ErrValueNotFound, ErrTokenNotFound:
		return mortise.ErrNotFound
	}
	return nil
}

// invalid is an [ErrInvalid] with a text of its own.
type invalid string

const (
	errTooLong = invalid("vault: the value is too long")
	errBatch   = invalid("vault: the number of items is out of bounds")
)

func (e invalid) Error() string { return string(e) }
func (e invalid) Unwrap() error { return ErrInvalid }

// isNoVault reports whether an error says that there is no vault, and not that something
// is not in it.
func isNoVault(err error) bool {
	var within Reason
	return errors.Is(err, mortise.ErrNotFound) && !errors.As(err, &within)
}

// ItemError is what is wrong with one item of a batch. It never holds the value.
type ItemError struct {
	Index int   // in the batch, from 0
	Err   error // a Reason, format.ErrMismatch, format.ErrExhausted or a *TokenError
}

// Error names the index.
func (e *ItemError) Error() string { return fmt.Sprintf("item %d: %v", e.Index, e.Err) }

// Unwrap returns Err.
func (e *ItemError) Unwrap() error { return e.Err }

// BatchError is what is wrong with the items of a batch, in order. Nothing of the batch
// was done. Items hold the errors of one kind: those that have to be mended first.
type BatchError struct{ Items []*ItemError }

// Error lists the first few items.
func (e *BatchError) Error() string {
	const most = 5
	var b strings.Builder
	for i, item := range e.Items {
		if i == most {
			fmt.Fprintf(&b, "; and %d more", len(e.Items)-most)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(item.Error())
	}
	return b.String()
}

// Unwrap lets errors.As find the first item, and errors.Is any of them.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, len(e.Items))
	for i, item := range e.Items {
		errs[i] = item
	}
	return errs
}

// namedError is an error that says what it is about, by the names that the caller gave.
// It writes them when it is asked to: as a rule nobody reads the texts of a thousand
// items.
type namedError struct {
	err  error
	join string // what stands between its text and the name
	name string
	in   string // the table of a column
	none bool   // the schema has no such thing, so that it can be anything that the caller wrote
}

func (e *namedError) Error() string {
	text := e.err.Error() + e.join + name.Quote(e.name)
	if e.in != "" {
		text += " in table " + name.Quote(e.in)
	}
	return text
}

func (e *namedError) Unwrap() error { return e.err }

// withoutNames returns an error for observers and logs: without what callers wrote in the
// place of a name, which may have been a value by mistake.
func withoutNames(err error) error {
	batch, ok := err.(*BatchError)
	if !ok {
		return err
	}
	items := make([]*ItemError, len(batch.Items))
	for i, item := range batch.Items {
		items[i] = item
		if e, ok := item.Err.(*namedError); ok && e.none {
			items[i] = &ItemError{item.Index, e.err}
		}
	}
	return &BatchError{items}
}

// ofVault names the vault in an error of a store that is about it.
func ofVault(id string, err error) error {
	if isNoVault(err) || errors.Is(err, mortise.ErrExists) || errors.Is(err, mortise.ErrDeleted) {
		return &namedError{err: err, join: ": vault ", name: id}
	}
	return err
}

// ofColumn names the column that will not do.
func ofColumn(c *column, err error) error {
	return &namedError{err: err, join: ": ", name: c.Column, in: c.Table}
}

// itemErrors collects the errors of items.
type itemErrors struct{ items []*ItemError }

func (e *itemErrors) add(i int, err error) { e.items = append(e.items, &ItemError{i, err}) }

func (e *itemErrors) addAll(which []int, err error) {
	for _, i := range which {
		e.add(i, err)
	}
}

// sort puts them in the order of the batch.
func (e *itemErrors) sort() {
	slices.SortFunc(e.items, func(a, b *ItemError) int { return cmp.Compare(a.Index, b.Index) })
}

func (e *itemErrors) err() error {
	if len(e.items) == 0 {
		return nil
	}
	return &BatchError{e.items}
}

// TokenError names a token whose stored value cannot be had.
type TokenError struct {
	Token string
	Err   error // keyring.ErrCorrupt or keyring.ErrUnknownKey
}

// Error names the token, and never what is stored.
func (e *TokenError) Error() string { return fmt.Sprintf("token %q: %v", e.Token, e.Err) }

// Unwrap returns Err.
func (e *TokenError) Unwrap() error { return e.Err }

// problems collects the problems of an argument.
type problems struct{ failure.Problems }

// sentinels are the errors of a store or a keyring that mean what they say.
var sentinels = []error{
	ErrTokenNotFound, ErrScopeInUse, ErrFull, keyring.ErrCorrupt,
	keyring.ErrUnknownKey, keyring.ErrWrongKey, keyring.ErrRetired, keyring.ErrInUse,
}

// unavailable marks a backend's failure. Sentinels pass as they are, but for ErrConflict,
// which is for those who try again.
func unavailable(doing string, err error) error {
	return failure.Unavailable(doing, err, sentinels...)
}

// reasons class the errors of the package for observers.
var reasons = []failure.Class{
	{Err: ErrInvalid, Reason: mortise.ReasonInvalid},
	{Err: ErrNotDeterministic, Reason: mortise.ReasonInvalid},
	{Err: ErrNotTokenized, Reason: mortise.ReasonInvalid},
	{Err: format.ErrMismatch, Reason: mortise.ReasonInvalid},
	{Err: ErrForbidden, Reason: mortise.ReasonForbidden},
	{Err: ErrTooMuch, Reason: mortise.ReasonLimit},
	{Err: ErrFull, Reason: mortise.ReasonLimit},
	{Err: format.ErrExhausted, Reason: mortise.ReasonLimit},
	{Err: ErrScopeInUse, Reason: mortise.ReasonConflict},
	{Err: ErrTokenConflict, Reason: mortise.ReasonConflict},
	{Err: keyring.ErrInUse, Reason: mortise.ReasonConflict},
	{Err: keyring.ErrCorrupt, Reason: mortise.ReasonCorrupt},
	{Err: keyring.ErrUnknownKey, Reason: mortise.ReasonCorrupt},
}
