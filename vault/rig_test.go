package vault_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/localkeys"
)

// rig is a service on memory whose time stands still, with a vault "v1" of "acme".
type rig struct {
	*vault.Service
	store *memory.Vault

	mu       sync.Mutex
	time     time.Time
	observed []mortise.Observation
}

var begin = time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)

// schema has columns of every kind.
var schema = vault.Schema{Tables: []vault.Table{
	{Name: "persons", Columns: []vault.Column{
		{Name: "email", Tokenization: vault.Deterministic, Group: "emails", Format: "email"},
		{Name: "card", Tokenization: vault.Deterministic, Format: "digits:luhn,last4"},
		{Name: "name", Tokenization: vault.Deterministic, Mask: "1*1"},
		{Name: "diary", Tokenization: vault.Random},
		{Name: "note", Tokenization: vault.NoTokenization},
	}},
	{Name: "orders", Columns: []vault.Column{
		{Name: "contact", Tokenization: vault.Deterministic, Group: "emails", Format: "email"},
		{Name: "number", Tokenization: vault.Deterministic, Format: "prefix:ord_"},
	}},
}}

func newRig(t testing.TB, opts vault.Options) *rig {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	r := &rig{store: db.Vault().Store.(*memory.Vault), time: begin}
	opts.Now = func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.time
	}
	opts.Observer = func(_ context.Context, o mortise.Observation) {
		r.mu.Lock()
		defer r.mu.Unlock()
		assert.Equal(t, "vault", o.Service)
		assert.Equal(t, o.Err != nil, o.Reason != "", "a reason for each error")
		o.Service, o.Reason = "", ""
		r.observed = append(r.observed, o)
	}
	r.Service, err = vault.New(vault.Backend{Store: r.store}, newKeyring(t, 1), &opts)
	require.NoError(t, err)
	_, err = r.CreateVault(t.Context(), "acme", "ops", "v1", schema)
	require.NoError(t, err)
	return r
}

// keyring has the primary version and others to look up.
func newKeyring(t testing.TB, primary int, others ...int) *localkeys.Keyring {
	t.Helper()
	var keys []localkeys.Key
	for _, version := range append([]int{primary}, others...) {
		root, err := localkeys.NewRoot(bytes.Repeat([]byte{byte(version)}, localkeys.RootSize))
		require.NoError(t, err)
		keys = append(keys, localkeys.Key{Version: version, Root: root})
	}
	k, err := localkeys.New(keys[0], keys[1:]...)
	require.NoError(t, err)
	return k
}

// with returns another service on the rig's store, as another process would have it.
func (r *rig) with(t testing.TB, primary int, others ...int) *vault.Service {
	t.Helper()
	s, err := vault.New(vault.Backend{Store: r.store}, newKeyring(t, primary, others...), nil)
	require.NoError(t, err)
	return s
}

// of returns items of a column.
func of(table, column string, values ...string) []vault.Item {
	var items []vault.Item
	for _, value := range values {
		items = append(items, vault.Item{Place: vault.InColumn(table, column), Value: vault.NewValue(value)})
	}
	return items
}

// inGroup returns items of a column group.
func inGroup(group string, values ...string) []vault.Item {
	var items []vault.Item
	for _, value := range values {
		items = append(items, vault.Item{Place: vault.InGroup(group), Value: vault.NewValue(value)})
	}
	return items
}

func insert(t testing.TB, s *vault.Service, items []vault.Item) []string {
	t.Helper()
	tokens, err := s.Insert(t.Context(), "acme", "ops", "v1", items)
	require.NoError(t, err)
	require.Len(t, tokens, len(items))
	return tokens
}

func tokenize(t testing.TB, s *vault.Service, items []vault.Item) []string {
	t.Helper()
	tokens, err := s.Tokenize(t.Context(), "acme", "v1", items)
	require.NoError(t, err)
	require.Len(t, tokens, len(items))
	return tokens
}

// everything allows plain text.
func everything(vault.Field) vault.Redaction { return vault.PlainText }

// reveal returns the plain values of tokens.
func reveal(t testing.TB, s *vault.Service, tokens ...string) []string {
	t.Helper()
	items := asked(tokens...)
	for i := range items {
		items[i].Redaction = vault.PlainText
	}
	shown, err := s.Detokenize(t.Context(), "acme", "ops", "v1", items, everything)
	require.NoError(t, err)
	var values []string
	for _, v := range shown {
		values = append(values, v.Value.Reveal())
	}
	return values
}

func asked(tokens ...string) []vault.DetokenizeItem {
	var items []vault.DetokenizeItem
	for _, token := range tokens {
		items = append(items, vault.DetokenizeItem{Token: token})
	}
	return items
}

// indexes returns which items an error is about; all of them must be of one kind.
func indexes(t testing.TB, err, kind error) []int {
	t.Helper()
	var of *vault.BatchError
	require.ErrorAs(t, err, &of)
	var at []int
	for _, item := range of.Items {
		require.ErrorIs(t, item, kind)
		at = append(at, item.Index)
	}
	return at
}

// few is a Tokenizer that has only these tokens.
type few []string

func (few) CheckFormat(string) error { return nil }

func (few) Limits() keyring.Limits { return keyring.Limits{} }

func (f few) Tokens(_ context.Context, requests []format.Request) ([]format.Result, error) {
	results := make([]format.Result, len(requests))
	for i, r := range requests {
		results[i].Token = f[r.Attempt%len(f)]
	}
	return results, nil
}

func (few) CheckTokens(_ context.Context, pairs []format.Pair) ([]error, error) {
	return make([]error, len(pairs)), nil
}
