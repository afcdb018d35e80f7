package vaulttest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// keptMutants make each mistake with each field of what the store keeps.
func keptMutants() []broken {
	return made(slices.Concat(
		mutate.Kept[vault.Vault]{
			Name: "vault", Key: func(v *vault.Vault) string { return v.Organization + "/" + v.ID },
			Stored: "vaults/put-stores-every-field", Times: "vaults/times-keep-microseconds",
			Bytes: "vaults/strings-keep-every-byte", Longest: "vaults/longest",
			Given: "vaults/copies", Got: "vaults/copies",
		}.Mutants(),
		mutate.Uncounted("revocations/grow", "DeleteToken", "MarkVaultDeleted", "MarkDeleted"),
		mutate.Kept[vault.Row]{
			Name: "row", Key: func(r *vault.Row) string { return r.Organization + "/" + r.Vault + "/" + r.Token },
			Stored: "tokens/insert-stores-every-field", Times: "tokens/times-keep-microseconds",
			Bytes: "tokens/strings-keep-every-byte", Longest: "tokens/longest imports/longest",
			Given: "tokens/copies", Got: "tokens/copies",
			Except: map[string]string{"Fingerprints*": "they are not read", "Place": "it is not stored"},
		}.Mutants(),
		mutate.Kept[vault.AuditEvent]{
			Name: "audit event", Key: func(e *vault.AuditEvent) string { return e.ID.String() },
			Stored: "audit/stores-every-field", Times: "audit/times-keep-microseconds", Unset: "audit/stores-every-field",
			Bytes: "audit/strings-keep-every-byte", Longest: "audit/longest",
			Given: "audit/copies", Got: "audit/copies",
			Except: map[string]string{
				"sets to the epoch At":                    "it is always set",
				"composes letters Schema.Tables.Columns*": "a vault keeps them in the same way",
			},
		}.Mutants(),
		mutate.Kept[keyring.Key]{
			Name: "key", Stored: "keys/register-stores-every-field",
			Except: map[string]string{"Retired": "RegisterKey takes no flags"},
		}.Mutants(),
	)...)
}

// made returns mistakes of package mutate as mutants.
func made(mistakes ...mutate.Mutant) (all []broken) {
	for _, x := range mistakes {
		all = append(all, broken{name: x.Name, breaks: strings.Join(x.Breaks, " "), mutate: func(m *mutant) { x.Make(&m.On) }})
	}
	return all
}

// fieldMutants keep something else than they were given.
var fieldMutants = []broken{
	{name: "finds nothing when its caller leaves", breaks: "store/left-at-any-look",
		mutate: func(m *mutant) { mutate.Leaving(&m.On, mortise.ErrNotFound) }},
	{name: "truncates times to seconds",
		breaks: "vaults/times-keep-microseconds tokens/times-keep-microseconds audit/times-keep-microseconds",
		mutate: out(func(t *time.Time) { *t = t.Truncate(time.Second) })},
	{name: "escapes schemas and tokens", breaks: "vaults/strings-keep-every-byte audit/strings-keep-every-byte", mutate: both(
		out(func(t *vault.Table) { escape(&t.Name) }),
		out(func(t *vault.AuditToken) { escape(&t.Token) }),
	)},
	{name: "sorts tables, columns and tokens",
		breaks: "vaults/order-is-kept vaults/put-stores-every-field audit/stores-every-field",
		mutate: both(
			out(func(t *[]vault.Table) {
				slices.SortFunc(*t, func(a, b vault.Table) int { return strings.Compare(a.Name, b.Name) })
			}),
			out(func(c *[]vault.Column) {
				slices.SortFunc(*c, func(a, b vault.Column) int { return strings.Compare(a.Name, b.Name) })
			}),
			out(func(t *[]vault.AuditToken) {
				slices.SortFunc(*t, func(a, b vault.AuditToken) int { return strings.Compare(a.Token, b.Token) })
			}),
		)},
	{name: "drops tables without columns", breaks: "vaults/schema-may-be-empty vaults/put-stores-every-field store/durable", mutate: out(
		func(tables *[]vault.Table) {
			*tables = slices.DeleteFunc(*tables, func(t vault.Table) bool { return len(t.Columns) == 0 })
		})},
	{name: "has a table in an empty schema", breaks: "vaults/schema-may-be-empty", mutate: out(func(v *vault.Vault) {
		if len(v.Schema.Tables) == 0 {
			v.Schema.Tables = []vault.Table{{}}
		}
	})},
	{name: "forgets redactions", breaks: "audit/many-tokens", mutate: out(func(t *vault.AuditToken) { t.Redaction = "" })},
	{name: "keeps a hundred tokens of an event", breaks: "audit/many-tokens", mutate: out(func(e *vault.AuditEvent) {
		e.Tokens = e.Tokens[:min(100, len(e.Tokens))]
	})},
	{name: "shows fingerprints",
		breaks: "tokens/insert-stores-every-field tokens/rows-in-order tokens/list-by-token " +
			"rotation/rows-without-fingerprint rotation/rows-not-sealed-under",
		mutate: out(func(r *vault.Row) { r.Fingerprints = []vault.VersionedFingerprint{{Version: 1}} })},
	{name: "takes all rows for deterministic", breaks: "tokens/insert-stores-every-field tokens/insert-random-rows", mutate: out(
		func(r *vault.Row) { r.Deterministic = r.Token != "" })},
	{name: "keeps ciphertexts as text", breaks: "tokens/ciphertexts-keep-every-byte tokens/insert-stores-every-field", mutate: out(
		func(s *keyring.Sealed) { s.Ciphertext = bytes.ToValidUTF8(s.Ciphertext, []byte("?")) }, rowLists...)},
	{name: "cuts ciphertexts", breaks: "tokens/ciphertexts-keep-every-byte tokens/insert-many", mutate: out(
		func(s *keyring.Sealed) { s.Ciphertext = s.Ciphertext[:min(64<<10, len(s.Ciphertext))] }, rowLists...)},
	{name: "returns ciphertexts of any length", breaks: "tokens/ciphertexts-are-bounded", mutate: out(
		func(s *keyring.Sealed) {
			if s.Version != 0 && len(s.Ciphertext) == 0 {
				s.Ciphertext = make([]byte, keyring.MaxCiphertext+1)
			}
		}, rowLists...)},
	{name: "compares half of a fingerprint", breaks: "tokens/fingerprints-keep-every-byte", mutate: in(
		func(f *keyring.Fingerprint) { clear(f[16:]) }, "FindTokens", "InsertTokens", "ImportTokens")},
	{name: "knows at most 999 parameters",
		breaks: "tokens/insert-many tokens/find-many tokens/rows-many imports/many rotation/add-many rotation/reseal-many",
		mutate: refusing(errors.New("too many parameters"), func(_ *mutant, c *mutate.Call) bool {
			most := 0
			for _, list := range c.In {
				if lookups, ok := list.Interface().([]vault.Lookup); ok {
					for _, l := range lookups {
						most += len(l.Fingerprints)
					}
				} else if list.Kind() == reflect.Slice {
					most = max(most, list.Len())
				}
			}
			return most > 999
		})},
}

// escape keeps a text as in JSON.
func escape(s *string) {
	text, _ := json.Marshal(*s)
	if *s = string(text[1 : len(text)-1]); *s == "1" {
		*s = "1.0"
	}
}

// inOrgA makes methods take every organization for org-a.
func inOrgA(methods ...string) func(*mutant) {
	return arg(func(org *string) { *org = "org-a" }, methods...)
}

// nameMutants take names for the same that are not.
var nameMutants = []broken{
	{name: "ignores case", breaks: "vaults/names-are-bytes tokens/names-are-bytes tokens/rows-in-order", mutate: renamed(strings.ToLower)},
	{name: "ignores spaces at the end", breaks: "vaults/names-are-bytes tokens/names-are-bytes", mutate: renamed(
		func(s string) string { return strings.TrimRight(s, " ") })},
	{name: "knows vaults by their ID alone", breaks: "vaults/id-is-of-its-organization vaults/get-other-organization",
		mutate: inOrgA("Vault")},
	{name: "reads tokens by their vault's ID alone",
		breaks: "vaults/get-other-organization tokens/list-of-vault tokens/scopes-are-apart",
		mutate: inOrgA("FindTokens", "ListRows")},
	{name: "makes what it is asked for", breaks: "vaults/get-unknown", mutate: accepting(mortise.ErrNotFound, "Vault")},
	{name: "lists nothing of no vault", breaks: "vaults/get-unknown vaults/get-other-organization store/ended-context", mutate: errs(
		func(error) error { return nil }, "Rows")},
}
