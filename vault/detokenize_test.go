package vault_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

func TestDetokenizeRedacts(t *testing.T) {
	r := newRig(t, vault.Options{})
	tokens := insert(t, r.Service, append(append(of("persons", "email", "ada@example.com"), of("persons", "card", "4111111111111111")...),
		append(of("persons", "name", "Ada Lovelace"), of("persons", "diary", "dear")...)...))
	ask := func(allow vault.RedactionPolicy, redactions ...vault.Redaction) ([]string, error) {
		items := asked(tokens...)
		for i := range redactions {
			items[i].Redaction = redactions[i]
		}
		shown, err := r.Detokenize(t.Context(), "acme", "ops", "v1", items, allow)
		var values []string
		for i, v := range shown {
			require.Equal(t, tokens[i], v.Token)
			require.Equal(t, []string{"emails", "persons.card", "persons.name", "persons.diary"}[i], v.Scope)
			values = append(values, fmt.Sprint(v.Redaction, " ", v.Value.Reveal()))
		}
		return values, err
	}
	always := func(redaction vault.Redaction) vault.RedactionPolicy {
		return func(vault.Field) vault.Redaction { return redaction }
	}

	const plain = vault.PlainText
	values, err := ask(everything, plain, plain, plain, plain)
	require.NoError(t, err)
	require.Equal(t, []string{"plain_text ada@example.com", "plain_text 4111111111111111", "plain_text Ada Lovelace", "plain_text dear"}, values)
	// Of the four columns, name alone has a mask of its own.
	values, err = ask(everything)
	require.NoError(t, err)
	require.Equal(t, []string{"plain_text ada@example.com", "plain_text 4111111111111111", "masked A********e", "plain_text dear"}, values)
	masked := []string{"masked a********@example.com", "masked ********1111", "masked A********e", "masked ********"}
	values, err = ask(always(vault.Masked))
	require.NoError(t, err)
	require.Equal(t, masked, values)
	values, err = ask(everything, vault.Masked, vault.Masked, vault.Masked, vault.Masked)
	require.NoError(t, err)
	require.Equal(t, masked, values)
	nothing := []string{"redacted *REDACTED*", "redacted *REDACTED*", "redacted *REDACTED*", "redacted *REDACTED*"}
	for _, allow := range []vault.RedactionPolicy{nil, always(vault.Redacted), always("")} {
		values, err = ask(allow)
		require.NoError(t, err)
		require.Equal(t, nothing, values)
	}
	// What is no redaction is a mistake. So are the names that redactions have over HTTP.
	for _, unknown := range []vault.Redaction{"plain", "PlainText", "MASKED", "PLAIN_TEXT", "nonsense"} {
		values, err = ask(always(unknown))
		require.ErrorIs(t, err, vault.ErrInvalid)
		require.Empty(t, values)
		values, err = ask(everything, vault.Masked, unknown, "", unknown)
		require.Equal(t, []int{1, 3}, indexes(t, err, vault.ErrInvalid))
		require.Empty(t, values)
		for _, err := range r.Export(t.Context(), "acme", "ops", "v1", always(unknown)) {
			require.ErrorIs(t, err, vault.ErrInvalid)
		}
	}
	values, err = ask(everything, vault.Redacted, vault.Masked)
	require.NoError(t, err)
	require.Equal(t, []string{"redacted *REDACTED*", "masked ********1111", "masked A********e", "plain_text dear"}, values)

	_, err = ask(always(vault.Masked), vault.PlainText, vault.Masked, vault.PlainText)
	require.Equal(t, []int{0, 2}, indexes(t, err, vault.ErrForbidden))
	_, err = ask(nil, vault.Masked)
	require.Equal(t, []int{0}, indexes(t, err, vault.ErrForbidden))

	// By column: what a group's columns share is shown as the strictest of them allows.
	byColumn := func(f vault.Field) vault.Redaction {
		switch f.String() {
		case "orders.contact":
			return vault.Masked
		case "persons.card":
			return vault.Redacted
		}
		return vault.PlainText
	}
	values, err = ask(byColumn)
	require.NoError(t, err)
	require.Equal(t, []string{"masked a********@example.com", "redacted *REDACTED*", "masked A********e", "plain_text dear"}, values)
}

// The function hears of columns that the schema has lost, too.
func TestDetokenizeOfLostColumns(t *testing.T) {
	r := newRig(t, vault.Options{})
	tokens := insert(t, r.Service, append(of("persons", "card", "4111111111111111"), of("persons", "email", "ada@example.com")...))
	_, err := r.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error { s.Tables = nil; return nil })
	require.NoError(t, err)
	var heard []vault.Field
	shown, err := r.Detokenize(t.Context(), "acme", "ops", "v1", asked(tokens...), func(f vault.Field) vault.Redaction {
		heard = append(heard, f)
		return vault.Masked
	})
	require.NoError(t, err)
	require.Equal(t, []vault.Field{
		{Organization: "acme", Vault: "v1", Table: "persons", Column: "card"},
		{Organization: "acme", Vault: "v1", Table: "persons", Column: "email", Group: "emails"},
		{Organization: "acme", Vault: "v1", Table: "orders", Column: "contact", Group: "emails"},
	}, heard)
	require.Equal(t, "persons.card", heard[0].String())
	require.Equal(t, "emails", (&vault.Field{Group: "emails"}).String())
	require.Equal(t, "********", shown[0].Value.Reveal(), "the format is gone, and with it the mask")
}

func TestDetokenizeErrors(t *testing.T) {
	r := newRig(t, vault.Options{})
	tokens := insert(t, r.Service, of("persons", "name", "Ada"))
	_, err := r.Detokenize(t.Context(), "acme", "ops", "v1", asked("nope", tokens[0], "", "\xff"), everything)
	require.Equal(t, []int{0, 2, 3}, indexes(t, err, vault.ErrTokenNotFound))
	for _, at := range [][2]string{{"acme", "nope"}, {"other", "v1"}, {"", "v1"}, {"acme", ""}, {"acme", "v\x001"}, {"\xff", "v1"}} {
		require.ErrorIs(t, r.Delete(t.Context(), at[0], "ops", at[1], tokens[0]), mortise.ErrNotFound)
		_, err = r.Detokenize(t.Context(), at[0], "ops", at[1], asked(tokens[0]), everything)
		require.ErrorIs(t, err, mortise.ErrNotFound)
	}
	_, err = r.Detokenize(t.Context(), "acme", "ops", "v1", nil, everything)
	require.ErrorIs(t, err, vault.ErrInvalid)
}

func TestDelete(t *testing.T) {
	r := newRig(t, vault.Options{})
	ada := of("persons", "name", "Ada")
	token := insert(t, r.Service, ada)[0]
	require.ErrorIs(t, r.Delete(t.Context(), "acme", "ops", "nope", token), mortise.ErrNotFound)
	require.ErrorIs(t, r.Delete(t.Context(), "other", "ops", "v1", token), mortise.ErrNotFound)
	require.ErrorIs(t, r.Delete(t.Context(), "acme", "ops", "v1", "nope"), vault.ErrTokenNotFound)
	require.NoError(t, r.Delete(t.Context(), "acme", "ops", "v1", token))
	require.ErrorIs(t, r.Delete(t.Context(), "acme", "ops", "v1", token), vault.ErrTokenNotFound)
	_, err := r.Tokenize(t.Context(), "acme", "v1", ada)
	require.ErrorIs(t, err, vault.ErrValueNotFound)
	_, err = r.Detokenize(t.Context(), "acme", "ops", "v1", asked(token), everything)
	require.ErrorIs(t, err, vault.ErrTokenNotFound)
	require.NotEqual(t, token, insert(t, r.Service, ada)[0])
}

func TestExport(t *testing.T) {
	r := newRig(t, vault.Options{})
	want := make(map[string]string)
	for from := 0; from < 1200; from += 400 {
		var values []string
		for i := range 400 {
			values = append(values, fmt.Sprint("value ", from+i))
		}
		for i, token := range insert(t, r.Service, of("persons", "name", values...)) {
			want[token] = values[i]
		}
	}
	got := make(map[string]string)
	last := ""
	for e, err := range r.Export(t.Context(), "acme", "ops", "v1", everything) {
		require.NoError(t, err)
		require.Equal(t, "persons.name", e.Scope)
		require.Greater(t, e.Token, last)
		last = e.Token
		got[e.Token] = e.Value.Reveal()
	}
	require.Equal(t, want, got)
	page, err := r.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{Kind: mortise.KindExported})
	require.NoError(t, err)
	require.Len(t, page.Items, 3)
	require.Len(t, page.Items[2].Tokens, 500)

	for e, err := range r.Export(t.Context(), "acme", "ops", "v1", nil) {
		require.NoError(t, err)
		require.Equal(t, "*REDACTED*", e.Value.Reveal())
		break
	}
	for _, err := range r.Export(t.Context(), "other", "ops", "v1", everything) {
		require.ErrorIs(t, err, mortise.ErrNotFound)
	}
}

// Who saw what is in the audit trail before they see it, and never a value.
func TestAudit(t *testing.T) {
	r := newRig(t, vault.Options{})
	tokens := insert(t, r.Service, append(of("persons", "email", "ada@example.com"), of("persons", "name", "Ada Lovelace")...))
	_, err := r.Detokenize(t.Context(), "acme", "grace", "v1", []vault.DetokenizeItem{{Token: tokens[0], Redaction: vault.Masked}, {Token: tokens[1], Redaction: vault.PlainText}}, everything)
	require.NoError(t, err)
	require.NoError(t, r.Delete(t.Context(), "acme", "hal", "v1", tokens[1]))
	_, err = r.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error { s.Tables = s.Tables[:1]; return nil })
	require.NoError(t, err)

	var events []vault.AuditEvent
	for e, err := range r.AuditEvents(t.Context(), "acme", vault.AuditQuery{Limit: 1}) {
		require.NoError(t, err)
		require.Equal(t, "v1", e.Vault)
		require.Equal(t, "2026-01-02T03:04:05.678901Z", e.At.Format("2006-01-02T15:04:05.999999999Z07:00"))
		require.NotContains(t, fmt.Sprintf("%+v", e), "ada@example.com")
		require.NotContains(t, fmt.Sprintf("%+v", e), "Lovelace")
		events = append(events, e)
	}
	require.Len(t, events, 4)
	require.Equal(t, []mortise.Kind{mortise.KindSchemaChanged, mortise.KindDeleted, mortise.KindDetokenized, mortise.KindVaultCreated},
		[]mortise.Kind{events[0].Kind, events[1].Kind, events[2].Kind, events[3].Kind})
	require.Len(t, events[0].Schema.Tables, 1)
	require.Equal(t, schema, *events[3].Schema)
	require.EqualValues(t, "hal", events[1].Actor)
	require.Equal(t, []vault.AuditToken{{Token: tokens[1], Scope: "persons.name"}}, events[1].Tokens)
	require.EqualValues(t, "grace", events[2].Actor)
	require.Equal(t, []vault.AuditToken{{tokens[0], "emails", vault.Masked}, {tokens[1], "persons.name", vault.PlainText}}, events[2].Tokens)

	at := begin.Truncate(time.Microsecond)
	for _, c := range []struct {
		q    vault.AuditQuery
		want int
	}{
		{vault.AuditQuery{Actor: "grace"}, 1}, {vault.AuditQuery{Vault: "v2"}, 0}, {vault.AuditQuery{Kind: mortise.KindDeleted}, 1}, {vault.AuditQuery{Limit: 1000}, 4},
		{vault.AuditQuery{From: at, To: at.Add(1)}, 4}, {vault.AuditQuery{From: at.Add(1)}, 0}, {vault.AuditQuery{To: at}, 0}, {vault.AuditQuery{Limit: 2}, 2},
	} {
		page, err := r.ListAuditEvents(t.Context(), "acme", c.q)
		require.NoError(t, err)
		require.Len(t, page.Items, c.want, "%+v", c.q)
	}
	for _, limit := range []int{-1, 1001} {
		_, err = r.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{Limit: limit})
		require.Equal(t, []string{"limit"}, fields(t, err))
	}
	for i := range 2500 {
		id := uuid.UUID{1: byte(i >> 8), 2: byte(i), 15: 1}
		require.NoError(t, r.store.AddAuditEvent(t.Context(), vault.AuditEvent{ID: id, Organization: "other", At: begin.AddDate(0, 0, 1), Kind: mortise.KindDeleted}))
	}
	n, err := r.Prune(t.Context(), begin.AddDate(0, 0, 2))
	require.NoError(t, err)
	require.Equal(t, 2504, n)
}

// kept is another name of the type, for a field of its own name would hide the method
// Vault.
type kept = memory.Vault

// broken is a store that can be made to fail, or to return other rows than were stored.
type broken struct {
	*kept
	audit  error
	tamper func(rows []vault.Row)
}

func (b *broken) AddAuditEvent(ctx context.Context, e vault.AuditEvent) error {
	if b.audit != nil {
		return b.audit
	}
	return b.kept.AddAuditEvent(ctx, e)
}

func (b *broken) Rows(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
	rows, err := b.kept.Rows(ctx, org, id, tokens)
	if b.tamper != nil {
		b.tamper(rows)
	}
	return rows, err
}

func newBroken(t *testing.T) (*broken, *vault.Service) {
	r := newRig(t, vault.Options{})
	b := &broken{kept: r.store}
	s, err := vault.New(vault.Backend{Store: b}, newKeyring(t, 1), nil)
	require.NoError(t, err)
	return b, s
}

// What cannot be audited is not shown.
func TestDetokenizeNeedsItsAuditEvent(t *testing.T) {
	b, s := newBroken(t)
	token := insert(t, s, of("persons", "name", "Ada"))
	b.audit = errors.New("disk full")
	shown, err := s.Detokenize(t.Context(), "acme", "ops", "v1", asked(token...), everything)
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorIs(t, err, b.audit)
	require.Empty(t, shown)
}

// What was moved or changed in the store is reported as corruption, by its token, and
// never shown.
func TestCorruption(t *testing.T) {
	b, s := newBroken(t)
	tokens := insert(t, s, append(of("persons", "name", "Ada", "Bob"), of("orders", "number", "Ada")...))
	for name, tamper := range map[string]func(rows []vault.Row){
		"another row":  func(rows []vault.Row) { rows[1].Sealed = rows[0].Sealed },
		"token":        func(rows []vault.Row) { rows[1].Token = rows[0].Token },
		"column":       func(rows []vault.Row) { rows[1].Scope = "orders.number" },
		"vault":        func(rows []vault.Row) { rows[1].Vault = "v2" },
		"organization": func(rows []vault.Row) { rows[1].Organization = "other" },
		"empty":        func(rows []vault.Row) { rows[1].Sealed.Ciphertext = nil },
		"cut":          func(rows []vault.Row) { rows[1].Sealed.Ciphertext = rows[1].Sealed.Ciphertext[:10] },
	} {
		t.Run(name, func(t *testing.T) {
			b.tamper = tamper
			shown, err := s.Detokenize(t.Context(), "acme", "ops", "v1", asked(tokens[:2]...), everything)
			require.Empty(t, shown)
			require.Equal(t, []int{1}, indexes(t, err, keyring.ErrCorrupt))
			var of *vault.TokenError
			require.ErrorAs(t, err, &of)
			require.Contains(t, tokens[:2], of.Token)
			for _, value := range []string{"Ada", "Bob"} {
				require.NotContains(t, err.Error(), value)
			}
		})
	}
	t.Run("two rows", func(t *testing.T) {
		b.tamper = func(rows []vault.Row) { rows[0].Sealed, rows[2].Sealed = rows[2].Sealed, rows[0].Sealed }
		_, err := s.Detokenize(t.Context(), "acme", "ops", "v1", asked(tokens...), everything)
		require.Equal(t, []int{0, 2}, indexes(t, err, keyring.ErrCorrupt))
	})
	t.Run("every bit", func(t *testing.T) {
		b.tamper = nil
		rows, err := b.Rows(t.Context(), "acme", "v1", tokens[:1])
		require.NoError(t, err)
		for bit := range 8 * len(rows[0].Sealed.Ciphertext) {
			b.tamper = func(rows []vault.Row) {
				rows[0].Sealed.Ciphertext = slices.Clone(rows[0].Sealed.Ciphertext)
				rows[0].Sealed.Ciphertext[bit/8] ^= 1 << (bit % 8)
			}
			_, err := s.Detokenize(t.Context(), "acme", "ops", "v1", asked(tokens[0]), everything)
			require.ErrorIs(t, err, keyring.ErrCorrupt)
		}
	})
	t.Run("corruption is told of first", func(t *testing.T) {
		b.tamper = func(rows []vault.Row) { rows[0].Sealed.Version, rows[1].Sealed = 7, rows[2].Sealed }
		_, err := s.Detokenize(t.Context(), "acme", "ops", "v1", asked(tokens...), everything)
		require.Equal(t, []int{1}, indexes(t, err, keyring.ErrCorrupt))
	})
	t.Run("a version that is not loaded is no corruption", func(t *testing.T) {
		b.tamper = func(rows []vault.Row) { rows[0].Sealed.Version = 7 }
		_, err := s.Detokenize(t.Context(), "acme", "ops", "v1", asked(tokens[0]), everything)
		require.ErrorIs(t, err, keyring.ErrUnknownKey)
		require.NotErrorIs(t, err, keyring.ErrCorrupt)
	})
	b.tamper = nil
	require.Equal(t, []string{"Ada", "Bob", "Ada"}, reveal(t, s, tokens...))
}
