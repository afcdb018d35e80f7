package vault

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// Redaction says how much of a value is shown.
type Redaction string

// The redactions, from the least to the most that is shown.
const (
	Redacted  Redaction = "redacted"   // nothing: the Value is "*REDACTED*"
	Masked    Redaction = "masked"     // as the column's mask shows it
	PlainText Redaction = "plain_text" // all of it
)

// known reports whether r is one of the redactions.
func (r Redaction) known() bool { return r == Redacted || r == Masked || r == PlainText }

// shows orders redactions by how much they show.
func (r Redaction) shows() int {
	switch r {
	case PlainText:
		return 2
	case Masked:
		return 1
	}
	return 0
}

// DetokenizeItem asks for the value of a token.
type DetokenizeItem struct {
	Token string

	// Redaction "" is as the column has it: masked if the column has a Mask, else as much as
	// the caller may see. Plain text of a column with a Mask has to be asked for. An
	// unknown redaction is [ErrInvalid].
	Redaction Redaction
}

// Revealed is what is shown of a token's value.
type Revealed struct {
	Token     string
	Scope     string // where the value belongs: the column group, or table.column
	Redaction Redaction
	Value     Value
}

// RedactionPolicy says how much of the values of a field may be shown. It is asked for
// every column that the value may be of, also for those that have left the schema or the
// group since: columns of a group share their tokens, and the one that allows the least
// counts. A nil policy shows nothing, and so does the answer "". Any other unknown
// redaction is [ErrInvalid], and nothing is answered.
type RedactionPolicy func(Field) Redaction

// Detokenize returns what the caller may see of the values of tokens, one for each item,
// in their order. Before it returns, the audit trail has an event that says who saw how
// much of which tokens.
//
// It answers for all items or for none. The error is a [*BatchError] if items are to
// blame: [ErrInvalid] if one asks for an unknown redaction, [ErrTokenNotFound],
// [ErrForbidden] if an item asks for more than allow says, or a [*TokenError] if what
// is stored cannot be opened. The error is [mortise.ErrNotFound] if there is no such
// vault, and [ErrTooMuch] if the values are longer than Options.MaxShown together.
func (s *Service) Detokenize(ctx context.Context, org string, by mortise.Actor, vault string, items []DetokenizeItem, allow RedactionPolicy) ([]Revealed, error) {
	start := s.start()
	var values []Revealed
	err := s.withKeys(ctx, func(*keyring.Versions) (err error) {
		values, err = s.detokenize(ctx, org, by, vault, items, allow)
		return err
	})
	s.observe(ctx, start, mortise.Observation{Kind: mortise.KindDetokenized, Organization: org, Object: vault, Actor: by, Items: len(items), Err: err})
	return values, err
}

func (s *Service) detokenize(ctx context.Context, org string, by mortise.Actor, vault string, items []DetokenizeItem, allow RedactionPolicy) ([]Revealed, error) {
	if err := s.checkBatch(len(items)); err != nil {
		return nil, err
	}
	var invalid itemErrors
	for i := range items {
		if r := items[i].Redaction; r != "" && !r.known() {
			invalid.add(i, errRedaction)
		}
	}
	if err := invalid.err(); err != nil {
		return nil, err
	}
	k, err := s.readVault(ctx, org, vault)
	if err != nil {
		return nil, err
	}
	rows, err := s.rowsOf(ctx, org, vault, items)
	if err != nil {
		return nil, err
	}
	var unknown, refused, corrupt itemErrors
	redactions := make([]Redaction, len(items))
	for i := range items {
		if rows[i].Token == "" {
			unknown.add(i, ErrTokenNotFound)
			continue
		}
		if rows[i].Token != items[i].Token {
			corrupt.add(i, &TokenError{items[i].Token, keyring.ErrCorrupt})
			continue
		}
		allowed, err := mostShown(k, &rows[i], allow)
		if err != nil {
			return nil, err
		}
		if redactions[i] = items[i].Redaction; redactions[i] == "" {
			redactions[i] = k.usual(&rows[i], allowed)
		}
		if redactions[i].shows() > allowed.shows() {
			refused.add(i, ErrForbidden)
		}
	}
	for _, errs := range []*itemErrors{&unknown, &refused, &corrupt} {
		if err := errs.err(); err != nil {
			return nil, err
		}
	}
	return s.reveal(ctx, k, by, rows, redactions)
}

// rowsOf returns the row of each item. It asks for each token once, however often it is
// there.
func (s *Service) rowsOf(ctx context.Context, org, vault string, items []DetokenizeItem) ([]Row, error) {
	var tokens []string
	at := make(map[string]int) // of a token among them
	for i := range items {
		token := tokenOrNone(items[i].Token)
		if _, known := at[token]; !known {
			at[token] = len(tokens)
			tokens = append(tokens, token)
		}
	}
	found, err := s.store.Rows(ctx, org, vault, tokens)
	if err != nil {
		return nil, unavailable("read tokens", ofVault(vault, err))
	}
	if err := answered("the store", len(found), len(tokens)); err != nil {
		return nil, err
	}
	rows := make([]Row, len(items))
	for i := range items {
		rows[i] = found[at[tokenOrNone(items[i].Token)]]
	}
	return rows, nil
}

// readVault returns the vault as it is now: what may be shown must not be read from a
// memory of it.
func (s *Service) readVault(ctx context.Context, org, vault string) (*knownVault, error) {
	v, err := s.Vault(ctx, org, vault)
	if err != nil {
		return nil, err
	}
	return newKnownVault(&v), nil
}

// reveal opens rows and writes the audit event.
func (s *Service) reveal(ctx context.Context, k *knownVault, by mortise.Actor, rows []Row, redactions []Redaction) ([]Revealed, error) {
	e, err := s.event(rows[0].Organization, rows[0].Vault, mortise.KindDetokenized, by)
	if err != nil {
		return nil, err
	}
	var corrupt, unknown itemErrors
	shown := 0
	values := make([]Revealed, len(rows))
	err = s.show(ctx, k, rows, redactions, func(i int, value Value, err error) error {
		switch {
		case errors.Is(err, keyring.ErrCorrupt):
			corrupt.add(i, err)
		case err != nil:
			unknown.add(i, err)
		}
		if shown += len(value.Reveal()); shown > s.opts.MaxShown {
			return fmt.Errorf("%w: %d bytes are the most; ask for fewer tokens", ErrTooMuch, s.opts.MaxShown)
		}
		values[i] = Revealed{Token: rows[i].Token, Scope: rows[i].Scope, Redaction: redactions[i], Value: value}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, errs := range []*itemErrors{&corrupt, &unknown} {
		if err := errs.err(); err != nil {
			return nil, err
		}
	}
	e.Tokens = make([]AuditToken, len(rows))
	for i := range rows {
		e.Tokens[i] = AuditToken{Token: rows[i].Token, Scope: rows[i].Scope, Redaction: redactions[i]}
	}
	if err := s.store.AddAuditEvent(ctx, e); err != nil {
		return nil, unavailable("store the audit event", ofVault(e.Vault, err))
	}
	return values, nil
}

// show calls each for every row, in order, with what its redaction shows of its value, or
// with the [TokenError] of one that cannot be had. Of values that are not shown as they
// are it holds no more than Options.MaxShown at a time, or one.
func (s *Service) show(
	ctx context.Context, k *knownVault, rows []Row, redactions []Redaction, each func(i int, value Value, err error) error,
) error {
	items := make([]keyring.OpenItem, 0, len(rows))
	for i := range rows {
		if redactions[i].shows() > 0 {
			items = append(items, rows[i].open())
		}
	}
	part := keyring.Limits{Bytes: s.opts.MaxShown}
	var opened []keyring.OpenResult // of the items from first on
	first, next := 0, 0
	for i := range rows {
		if redactions[i].shows() == 0 {
			if err := each(i, redactedValue, nil); err != nil {
				return err
			}
			continue
		}
		if next == first+len(opened) {
			var err error
			first = next
			if opened, err = s.open(ctx, items[first:partEnd(part, items, first, openSize)]); err != nil {
				return err
			}
		}
		r := opened[next-first]
		next++
		if r.Err == nil && redactions[i] == Masked {
			f := &k.fieldsOf(&rows[i])[0]
			r.Value = NewValue(maskOf(f).Apply(r.Value.Reveal()))
		}
		if err := each(i, r.Value, r.Err); err != nil {
			return err
		}
	}
	return nil
}

// redactedValue is what is shown of a redacted value.
var redactedValue = NewValue("*REDACTED*")

// open is what a keyring needs to open the row's value.
func (r *Row) open() keyring.OpenItem {
	return keyring.OpenItem{Scope: r.scope(), Token: r.Token, Sealed: r.Sealed}
}

// open opens values. The errors of items are [TokenError]s.
func (s *Service) open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	opened, err := s.keyring.Open(ctx, items)
	if err != nil {
		return nil, unavailable("open values", err)
	}
	for i := range opened {
		if r := &opened[i]; r.Err != nil {
			*r = keyring.OpenResult{Err: &TokenError{items[i].Token, r.Err}}
		}
	}
	return opened, nil
}

// mostShown returns how much of a row's value may be shown: the least that any of its
// columns allows.
func mostShown(k *knownVault, r *Row, allow RedactionPolicy) (Redaction, error) {
	if allow == nil {
		return Redacted, nil
	}
	least := PlainText
	for _, f := range k.fieldsOf(r) {
		redaction := allow(f)
		if redaction != "" && !redaction.known() {
			return Redacted, fmt.Errorf("%w: Allow returned an unknown redaction", ErrInvalid)
		}
		if redaction.shows() < least.shows() {
			least = redaction
		}
	}
	if least.shows() == 0 {
		return Redacted, nil
	}
	return least, nil
}

// usual returns the redaction of a row for which none was asked: as much as allowed, but
// masked if a column of the schema has a mask.
func (k *knownVault) usual(r *Row, allowed Redaction) Redaction {
	for _, c := range k.scopes[r.Scope] {
		if c.Mask != "" && allowed == PlainText {
			return Masked
		}
	}
	return allowed
}

// fieldsOf returns the columns that a row's value may be of, those of the schema first;
// one in any case, made up of the scope's name if there never was another.
func (k *knownVault) fieldsOf(r *Row) []Field {
	var fields []Field
	for _, c := range k.scopes[r.Scope] {
		fields = append(fields, c.Field)
	}
	fields = append(fields, k.past[r.Scope]...)
	if len(fields) == 0 {
		fields = append(fields, fieldOfScope(r.scope()))
	}
	return fields
}

// maskOf returns how values of the field are masked.
func maskOf(f *Field) format.Mask {
	if f.Mask == "" {
		kind, _, _ := strings.Cut(f.Format, ":")
		switch kind {
		case "digits":
			return format.Mask{Last: 4}
		case "email":
			return format.Mask{First: 1, Domain: true}
		}
	}
	// Checked with the schema; a mask that cannot be read hides everything.
	m, _ := format.ParseMask(f.Mask)
	return m
}

// tokenOrNone returns "", which is no token, for what can be none: a store need not know
// how to look for it.
func tokenOrNone(token string) string {
	if name.Problem(token) != "" {
		return ""
	}
	return token
}
