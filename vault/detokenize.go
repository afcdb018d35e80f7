package vault

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/seed-6363c74e/mortise/internal/name"
)

// Redaction says how much of a value is shown.
type Redaction string

// The redactions, from the least to the most that is shown.
const (
	Redacted  Redaction = "redacted"   // nothing: RedactedText
	Masked    Redaction = "masked"     // as the column's mask shows it
	PlainText Redaction = "plain_text" // all of it
)

// RedactedText is what is shown of a redacted value.
const RedactedText = "*REDACTED*"

// shows orders redactions by how much they show. What is no redaction shows nothing.
func (r Redaction) shows() int {
	switch r {
	case PlainText:
		return 2
	case Masked:
		return 1
	}
	return 0
}

// TokenItem asks for the value of a token.
type TokenItem struct {
	Token     string
	Redaction Redaction // "" is the most that the caller may see
}

// Revealed is what is shown of a token's value.
type Revealed struct {
	Token     string
	Redaction Redaction
	Value     Value
}

// Allow says how much of the values of a field may be shown. It is asked for every column that the value may be of: those of a group share
// their tokens, and the one that allows the least counts. A nil Allow shows nothing.
type Allow func(Field) Redaction

// Detokenize returns what the caller may see of the values of tokens, one for each item, in their order. Before it returns, the audit trail
// has an event that says who saw how much of which tokens.
//
// It answers for all items or for none. The error is a [*BatchError] if items are to blame: [ErrTokenNotFound], [ErrForbidden] if an item
// asks for more than allow says, or a [*TokenError] if what is stored cannot be opened. It is [ErrNotFound] if there is no such vault, and
// [ErrTooMuch] if the values are longer than Options.MaxShown together.
func (s *Service) Detokenize(ctx context.Context, org, actor, vault string, items []TokenItem, allow Allow) ([]Revealed, error) {
	start := s.start()
	var values []Revealed
	err := s.withKeys(ctx, func(*Versions) (err error) {
		values, err = s.detokenize(ctx, org, actor, vault, items, allow)
		return err
	})
	s.observe(ctx, start, Observation{Kind: KindDetokenized, Organization: org, Vault: vault, Actor: actor, Items: len(items), Err: err})
	return values, err
}

func (s *Service) detokenize(ctx context.Context, org, actor, vault string, items []TokenItem, allow Allow) ([]Revealed, error) {
	if err := s.checkBatch(len(items)); err != nil {
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
			corrupt.add(i, &TokenError{items[i].Token, ErrCorrupt})
			continue
		}
		allowed := k.allowed(&rows[i], allow)
		switch redactions[i] = items[i].Redaction; {
		case redactions[i] == "":
			redactions[i] = allowed
		case redactions[i].shows() == 0:
			redactions[i] = Redacted
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
	return s.reveal(ctx, k, KindDetokenized, actor, rows, redactions)
}

// rowsOf returns the row of each item. It asks for each token once, however often it is there.
func (s *Service) rowsOf(ctx context.Context, org, vault string, items []TokenItem) ([]Row, error) {
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
		return nil, unavailable("read tokens", err)
	}
	if err := answered(len(found), len(tokens)); err != nil {
		return nil, err
	}
	rows := make([]Row, len(items))
	for i := range items {
		rows[i] = found[at[tokenOrNone(items[i].Token)]]
	}
	return rows, nil
}

// readVault returns the vault as it is now: what may be shown must not be read from a memory of it.
func (s *Service) readVault(ctx context.Context, org, vault string) (*knownVault, error) {
	v, err := s.Vault(ctx, org, vault)
	if err != nil {
		return nil, err
	}
	return newKnownVault(&v), nil
}

// reveal opens rows and writes the audit event.
func (s *Service) reveal(ctx context.Context, k *knownVault, kind Kind, actor string, rows []Row, redactions []Redaction) ([]Revealed, error) {
	e, err := s.event(rows[0].Organization, rows[0].Vault, kind, actor)
	if err != nil {
		return nil, err
	}
	var corrupt, unknown itemErrors
	shown := 0
	opened := make(map[string]string) // by token
	values := make([]Revealed, len(rows))
	for i := range rows {
		r := &rows[i]
		text, err := s.show(ctx, k, r, redactions[i], opened)
		if shown += len(text); shown > s.opts.MaxShown && kind == KindDetokenized {
			return nil, fmt.Errorf("%w: %d bytes are the most; ask for fewer tokens", ErrTooMuch, s.opts.MaxShown)
		}
		switch {
		case errors.Is(err, ErrCorrupt):
			corrupt.add(i, err)
			continue
		case errors.Is(err, ErrUnknownKey):
			unknown.add(i, err)
			continue
		case err != nil:
			return nil, err
		}
		values[i] = Revealed{Token: r.Token, Redaction: redactions[i], Value: NewValue(text)}
		e.Tokens = append(e.Tokens, AuditToken{Token: r.Token, Scope: r.Scope, Redaction: redactions[i]})
	}
	for _, errs := range []*itemErrors{&corrupt, &unknown} {
		if err := errs.err(); err != nil {
			return nil, err
		}
	}
	if err := s.store.AddAuditEvent(ctx, e); err != nil {
		return nil, unavailable("store the audit event", err)
	}
	return values, nil
}

// show returns what a redaction shows of a row's value. It opens each value once.
func (s *Service) show(ctx context.Context, k *knownVault, r *Row, redaction Redaction, opened map[string]string) (string, error) {
	if redaction.shows() == 0 {
		return RedactedText, nil
	}
	text, known := opened[r.Token]
	if !known {
		var err error
		if text, err = s.open(ctx, r); err != nil {
			return "", err
		}
		opened[r.Token] = text
	}
	if redaction == Masked {
		f := k.fieldsOf(r)[0]
		text = f.mask().Apply(text)
	}
	return text, nil
}

// open returns a row's value. An error names the token.
func (s *Service) open(ctx context.Context, r *Row) (string, error) {
	text, err := s.keyring.Open(ctx, r.scope(), r.Token, r.Sealed)
	switch {
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrUnknownKey):
		return "", &TokenError{r.Token, err}
	case err != nil:
		return "", unavailable("open a value", err)
	}
	return string(text), nil
}

// allowed returns how much of a row's value may be shown: the least that any of its columns allows.
func (k *knownVault) allowed(r *Row, allow Allow) Redaction {
	if allow == nil {
		return Redacted
	}
	least := PlainText
	for _, f := range k.fieldsOf(r) {
		if redaction := allow(f); redaction.shows() < least.shows() {
			least = redaction
		}
	}
	if least.shows() == 0 {
		return Redacted
	}
	return least
}

// fieldsOf returns the columns that a row's value may be of; one in any case, made up of the scope's name if the schema has none left.
func (k *knownVault) fieldsOf(r *Row) []Field {
	var fields []Field
	for _, c := range k.scopes[r.Scope] {
		fields = append(fields, c.Field)
	}
	if len(fields) == 0 {
		fields = append(fields, fieldOfScope(r.scope()))
	}
	return fields
}

// tokenOrNone returns "", which is no token, for what can be none: a store need not know how to look for it.
func tokenOrNone(token string) string {
	if name.Problem(token) != "" {
		return ""
	}
	return token
}

// Delete forgets the value of a token. The token is never given again: who still has it learns nothing of another value. The value
// gets another token if it is inserted again. It is [ErrTokenNotFound] if the vault has no such token, [ErrNotFound] if there is no such
// vault.
func (s *Service) Delete(ctx context.Context, org, actor, vault, token string) error {
	start := s.start()
	err := s.delete(ctx, org, actor, vault, token)
	s.observe(ctx, start, Observation{Kind: KindDeleted, Organization: org, Vault: vault, Actor: actor, Items: 1, Err: err})
	return err
}

func (s *Service) delete(ctx context.Context, org, actor, vault, token string) error {
	if !isVaultID(org, vault) {
		return ErrNotFound
	}
	token = tokenOrNone(token)
	rows, err := s.store.Rows(ctx, org, vault, []string{token})
	if err != nil {
		return unavailable("read a token", err)
	}
	if err := answered(len(rows), 1); err != nil {
		return err
	}
	if rows[0].Token == "" {
		return ErrTokenNotFound
	}
	e, err := s.event(org, vault, KindDeleted, actor)
	if err != nil {
		return err
	}
	e.Tokens = []AuditToken{{Token: token, Scope: rows[0].Scope}}
	return unavailable("delete a token", s.store.DeleteToken(ctx, org, vault, token, e))
}

// Exported is a token, where its value belongs, and what is shown of it.
type Exported struct {
	Scope string // the column group, or table.column
	Revealed
}

// Export iterates over all tokens of a vault, by token. Each shows as much as allow says; see [Service.Detokenize]. The audit trail has an
// event for every page of tokens, before they are seen. Tokens that come or go meanwhile may be there or not. It stops after the first error.
func (s *Service) Export(ctx context.Context, org, actor, vault string, allow Allow) iter.Seq2[Exported, error] {
	return func(yield func(Exported, error) bool) {
		after := ""
		for {
			start := s.start()
			var page []Exported
			err := s.withKeys(ctx, func(*Versions) (err error) {
				page, err = s.exportPage(ctx, org, actor, vault, after, allow)
				return err
			})
			s.observe(ctx, start, Observation{Kind: KindExported, Organization: org, Vault: vault, Actor: actor, Items: len(page), Err: err})
			if err != nil {
				yield(Exported{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
			after = page[len(page)-1].Token
		}
	}
}

const exportPage = 500

func (s *Service) exportPage(ctx context.Context, org, actor, vault, after string, allow Allow) (page []Exported, err error) {
	k, err := s.readVault(ctx, org, vault)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.ListRows(ctx, org, vault, after, exportPage)
	if err != nil || len(rows) == 0 {
		return nil, unavailable("list tokens", err)
	}
	redactions := make([]Redaction, len(rows))
	for i := range rows {
		redactions[i] = k.allowed(&rows[i], allow)
	}
	values, err := s.reveal(ctx, k, KindExported, actor, rows, redactions)
	for i := range values {
		page = append(page, Exported{rows[i].Scope, values[i]})
	}
	return page, err
}
