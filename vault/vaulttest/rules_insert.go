package vaulttest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// insertRules say what InsertTokens stores.
var insertRules = []rule{
	{Rule{"tokens/insert-stores-every-field", "InsertTokens stores rows with all their fields, and returns a token for each, in their order."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			rows := []vault.Row{row("t3", email, "ann", 1, 2), row("t1", "emails", "ann", 2), row("t2", "persons.phone", "bea"), row("T1", email, "bea", 3)}
			rows[1].CreatedAt = moment(1000)
			rows[2].Sealed = keyring.Sealed{Version: 1<<31 - 1, Ciphertext: []byte{0}}
			s.adds(t, v, rows...)
			for _, r := range rows {
				s.hasRow(t, v, r)
			}
			require.Len(t, s.dump(t, v), len(rows))
			s.adds(t, v)
		}},

	{Rule{"tokens/times-keep-microseconds", "Times of rows keep microseconds, and are UTC."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for i, at := range exactTimes {
				r := row(fmt.Sprint("t", i), email, at.String(), 1)
				r.CreatedAt = at
				s.adds(t, v, r)
				s.hasRow(t, v, r)
			}
		}},

	{Rule{"tokens/longest", "Every text of a row comes back whole, as long as it can be, and a ciphertext of two mebibytes."}, 0,
		func(t *testing.T, s *subject) {
			r := row("t1", email, "ann", 1)
			mutate.Stretch(&r)
			v := s.addVault(t, newVault(r.Organization, r.Vault))
			s.adds(t, v, r)
			s.hasRow(t, v, r)
			sameRow(t, rowsOf(v, []vault.Row{r})[0], s.list(t, v)[0])
		}},

	{Rule{"tokens/strings-keep-every-byte", "Strings keep every byte: a row's token, scope, vault and organization."}, 0,
		func(t *testing.T, s *subject) {
			for _, text := range hard {
				v := s.addVault(t, newVault(text, text))
				r := row(text, text, text, 1)
				s.adds(t, v, r)
				s.hasRow(t, v, r)
				require.Equal(t, []string{text}, s.dump(t, v))
			}
		}},

	{Rule{"tokens/names-are-bytes", "Tokens and scopes are compared as bytes: what differs in one is another."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			for _, text := range hard {
				s.adds(t, v, row(text, text, "ann", 1))
				s.noRow(t, v, row(text+" ", text, "bea", 1))
			}
			for _, text := range hard {
				s.hasRow(t, v, row(text, text, "ann", 1))
				s.takes(t, v, []int{0}, row(text, email, "ann", 1))
			}
		}},

	{Rule{"tokens/ciphertexts-keep-every-byte", "Ciphertexts keep every byte, whatever they are, and more than 64 KiB; equal ones are nothing special."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			every := make([]byte, 256)
			for i := range every {
				every[i] = byte(i)
			}
			long := bytes.Repeat(every, 64<<10/256+1)
			for i, ciphertext := range [][]byte{every, every, long, {0}, {0, 0}, []byte("0x00"), []byte("\\x00"), []byte(" "), bytes.Repeat([]byte{0}, 5000)} {
				r := row(fmt.Sprint("t", i), email, fmt.Sprint(i), 1)
				r.Sealed.Ciphertext = ciphertext
				s.adds(t, v, r)
				s.hasRow(t, v, r)
			}
		}},

	{Rule{"tokens/ciphertexts-are-bounded", "A ciphertext over keyring.MaxCiphertext comes as an empty one, others come whole."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			fits, planted := row("t1", email, "1", 1), row("t2", email, "2", 1)
			fits.Sealed.Ciphertext = bytes.Repeat([]byte("x"), keyring.MaxCiphertext)
			planted.Sealed.Ciphertext = bytes.Repeat([]byte("x"), keyring.MaxCiphertext+1)
			s.adds(t, v, fits, planted)
			s.hasRow(t, v, fits)
			rows, err := s.Store.Rows(t.Context(), v.Organization, v.ID, []string{"t2"})
			require.NoError(t, err)
			require.Empty(t, rows[0].Sealed.Ciphertext)
			require.Equal(t, "t2", rows[0].Token)
		}},

	{Rule{"tokens/fingerprints-keep-every-byte", "Fingerprints are compared as 32 bytes: what differs in one bit is another."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			base := keyring.Fingerprint{0: 'a', 15: 0, 31: ' '}
			var all []vault.Row
			l := vault.Lookup{Scope: email, Version: 1}
			var want []string
			for bit := range 256 {
				r := row(fmt.Sprintf("t%03d", bit), email, "", 1)
				f := base
				f[bit/8] ^= 1 << (bit % 8)
				r.Fingerprints[0].Fingerprint = f
				all, want, l.Fingerprints = append(all, r), append(want, r.Token), append(l.Fingerprints, f)
			}
			s.adds(t, v, all...)
			l.Fingerprints = append(l.Fingerprints, base, keyring.Fingerprint{})
			require.Equal(t, append(want, "", ""), s.lookUp(t, v, l)[0])
		}},

	{Rule{"tokens/copies", "Arguments and results are the receiver's own: rows and slices of tokens are copies."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			ann, bea := row("t1", email, "ann", 1, 2), row("t2", email, "bea", 1)
			mine := rowsOf(v, []vault.Row{ann, bea})
			tokens, err := s.Store.InsertTokens(t.Context(), v.Organization, v.ID, v.Revision, mine)
			require.NoError(t, err)
			for i := range mine {
				spoilRow(&mine[i])
				mine[i].Token, tokens[i] = "spoiled", "spoiled"
			}
			for range 2 {
				s.hasRow(t, v, ann)
				s.hasRow(t, v, bea)
				rows, err := s.Store.Rows(t.Context(), v.Organization, v.ID, []string{"t1", "t2"})
				require.NoError(t, err)
				for _, list := range [][]vault.Row{
					rows, s.list(t, v), s.withoutFingerprint(t, 9), s.notSealedUnder(t, 9),
				} {
					require.Len(t, list, 2)
					for i := range list {
						spoilRow(&list[i])
					}
				}
				clear(s.find(t, v, email, 1, "ann"))
			}
		}},

	{Rule{"tokens/insert-random-rows", "A row without fingerprints is always stored, as often as it is inserted."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			one, two, three := row("t1", email, "ann"), row("t2", email, "ann"), row("t3", email, "ann")
			two.Sealed, three.Sealed = one.Sealed, one.Sealed
			s.adds(t, v, one, two)
			s.adds(t, v, three)
			for _, r := range []vault.Row{one, two, three} {
				s.hasRow(t, v, r)
			}
			s.adds(t, v, row("t4", email, "ann", 1))
		}},

	{Rule{"tokens/insert-other-revision", "InsertTokens is ErrConflict if the vault's revision is another one, and stores nothing."}, 0,
		func(t *testing.T, s *subject) {
			old := s.customers(t)
			v := s.changeVault(t, s.changeVault(t, old))
			for _, revision := range []int64{-3, 0, 1, 2, 4, 1 << 40} {
				wrong := v
				wrong.Revision = revision
				_, err := s.insert(t, wrong, row("t1", email, "ann", 1))
				require.ErrorIs(t, err, vault.ErrConflict, "revision %d", revision)
				_, err = s.insert(t, wrong, row("t1", email, "ann"))
				require.ErrorIs(t, err, vault.ErrConflict, "revision %d", revision)
			}
			require.Empty(t, s.dump(t, v))
			s.adds(t, v, row("t1", email, "ann", 1))
		}},

	{Rule{"tokens/insert-many", "InsertTokens stores a batch of 1000 rows, with long ciphertexts among them, and of several scopes and versions."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			rows := make([]vault.Row, 1000)
			for i := range rows {
				rows[i] = row(fmt.Sprintf("t%04d", i), []string{email, "emails", "persons.phone"}[i%3], fmt.Sprint("value ", i), 1+i%2, 3)
				if i%3 == 2 {
					rows[i] = row(rows[i].Token, "persons.phone", "random")
				}
				if i%100 == 7 {
					rows[i].Sealed.Ciphertext = bytes.Repeat([]byte{byte(i)}, 64<<10+28)
				}
			}
			s.adds(t, v, rows...)
			require.Len(t, s.dump(t, v), 1000)
			for i := 7; i < 1000; i += 101 {
				s.hasRow(t, v, rows[i])
			}
			s.hasRow(t, v, rows[107])
		}},
}
