package vault

import (
	"context"
	"errors"
	"fmt"

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

// TokenItem asks for the value of a token.
type TokenItem struct {
	Token     string
	Redaction Redaction // "" is the most that the caller may see; what is no redaction is [ErrInvalid]
}

// Revealed is what is shown of a token's value.
type Revealed struct {
	Token     string
	Redaction Redaction
	Value     Value
}

// Allow says how much of the values of a field may be shown. It is asked for every column
// that the value may be of, also for those that have left the schema or the group since:
// columns of a group share their tokens, and the one that allows the least counts. A nil
// Allow shows nothing, and so does the answer "". Any other answer that is no redaction
// is [ErrInvalid], and nothing is answered.
type Allow func(Field) Redaction

// Detokenize returns what the caller may see of the values of tokens, one for each item, in their order. Before it returns, the audit trail
// has an event that says who saw how much of which tokens.
//
// It answers for all items or for none. The error is a [*BatchError] if items are to
// blame: [ErrInvalid] if one asks for what is no redaction, [ErrTokenNotFound],
// [ErrForbidden] if an item asks for more than allow says, or a [*TokenError] if what is
// stored cannot be opened. It is [ErrNotFound] if there is no such vault, and
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
			corrupt.add(i, &TokenError{items[i].Token, ErrCorrupt})
			continue
		}
		allowed, err := s.allowed(ctx, k, &rows[i], allow)
		if err != nil {
			return nil, err
		}
		if redactions[i] = items[i].Redaction; redactions[i] == "" {
			redactions[i] = allowed
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
	return s.reveal(ctx, k, actor, rows, redactions)
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
func (s *Service) reveal(ctx context.Context, k *knownVault, actor string, rows []Row, redactions []Redaction) ([]Revealed, error) {
	e, err := s.event(rows[0].Organization, rows[0].Vault, KindDetokenized, actor)
	if err != nil {
		return nil, err
	}
	var corrupt, unknown itemErrors
	shown := 0
	values := make([]Revealed, len(rows))
	for i := range rows {
		r := &rows[i]
		text, err := s.show(ctx, k, r, redactions[i])
		if shown += len(text); shown > s.opts.MaxShown {
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

// show returns what a redaction shows of a row's value.
func (s *Service) show(ctx context.Context, k *knownVault, r *Row, redaction Redaction) (string, error) {
	if redaction.shows() == 0 {
		return RedactedText, nil
	}
	text, err := s.open(ctx, r)
	if err != nil {
		return "", err
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
func (s *Service) allowed(ctx context.Context, k *knownVault, r *Row, allow Allow) (Redaction, error) {
	if allow == nil {
		return Redacted, nil
	}
	least := PlainText
	for _, f := range k.fieldsOf(r) {
		redaction, err := s.ask(ctx, allow, f)
		if err != nil {
			return Redacted, err
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

// fieldsOf returns the columns that a row's value may be of, those of the schema first; one in any case, made up of the scope's name if there
// never was another.
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

// tokenOrNone returns "", which is no token, for what can be none: a store need not know how to look for it.
func tokenOrNone(token string) string {
	if name.Problem(token) != "" {
		return ""
	}
	return token
}
