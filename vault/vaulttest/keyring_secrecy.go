package vaulttest

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// secrecyRules say what a keyring keeps for itself, and what it leaves alone.
var secrecyRules = []keyringRule{
	{Rule: Rule{"keyring/keeps-nothing", "A keyring keeps nothing of its arguments and changes none but dst; results are the receiver's own."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1, 2)
			items := fingerprintItems(emails, "ann")
			before, dst := items[0], make([]keyring.Fingerprint, 1)
			require.NoError(t, k.Fingerprint(t.Context(), k.versions.Fingerprint, items, dst))
			require.True(t, before == items[0], "an item of Fingerprint has changed")
			items[0] = keyring.FingerprintItem{}
			want := dst[0]
			dst[0] = keyring.Fingerprint{}
			require.True(t, want == k.fingerprint(t, k.versions.Fingerprint, emails, "ann")[0])

			seals := []keyring.SealItem{{Scope: emails, Token: theToken, Value: keyring.NewValue("ann@example.com")}}
			toSeal := seals[0]
			results, err := k.Seal(t.Context(), seals)
			require.NoError(t, err)
			require.True(t, toSeal == seals[0], "an item of Seal has changed")
			require.NoError(t, results[0].Err)
			sealed := results[0].Sealed
			results[0] = keyring.SealResult{}
			seals[0] = keyring.SealItem{}

			kept := keyring.Sealed{Version: sealed.Version, Ciphertext: bytes.Clone(sealed.Ciphertext)}
			opens := []keyring.OpenItem{{Scope: emails, Token: theToken, Sealed: sealed}}
			opened, err := k.Open(t.Context(), opens)
			require.NoError(t, err)
			got := opened[0].Value
			opened[0] = keyring.OpenResult{}
			require.Equal(t, keyring.OpenItem{Scope: emails, Token: theToken, Sealed: kept}, opens[0])
			clear(sealed.Ciphertext)
			require.True(t, got.Reveal() == "ann@example.com", "the value changes with the ciphertext")
			k.opens(t, emails, theToken, kept, "ann@example.com")
			require.True(t, got.Reveal() == "ann@example.com", "the value changes with the next call")
		}},

	{Rule: Rule{"keyring/concurrent", "Every method is safe for concurrent use."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1, 2)
			want := make([]keyring.Fingerprint, len(places))
			for i, place := range places {
				want[i] = h.open(t, 1).fingerprint(t, k.versions.Fingerprint, place, "ann@example.com")[0]
			}
			var errs [16]error
			conformance.Together(len(errs), func(n int) {
				for i := range places {
					i = (i + n) % len(places)
					if errs[n] == nil {
						errs[n] = useAtOnce(t, k, places[i], fmt.Sprint("value ", n), want[i])
					}
				}
			})
			conformance.NoErrors(t, errs[:])
		}},

	{Rule: Rule{"keyring/prints-as-redacted", "A keyring prints as [redacted] through every verb and in logs, also within something else, and as JSON shows nothing."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.Open(t, 1, 2)
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%X", "%q", "%d", "%#x"} {
				require.Equal(t, "[redacted]", fmt.Sprintf(verb, k), verb)
				within := fmt.Sprintf(verb, struct{ K keyring.Keyring }{k})
				require.Contains(t, within, "[redacted]", verb)
				require.Less(t, len(within), 80, "%s prints more than it should", verb)
			}
			require.Equal(t, "[redacted]", fmt.Sprint(k))
			for _, handler := range []func(*bytes.Buffer) slog.Handler{
				func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
				func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
			} {
				var b bytes.Buffer
				slog.New(handler(&b)).Info("keys", "k", k)
				require.Contains(t, b.String(), "[redacted]")
				require.Less(t, b.Len(), 160, "a log line shows more than it should")
			}
			if text, err := json.Marshal(k); err == nil {
				require.Contains(t, []string{`"[redacted]"`, "{}"}, string(text))
			}
		}},

	{Rule: Rule{"keyring/errors-hold-nothing", "No error holds a value, nor what it was sealed to."},
		check: func(t *testing.T, h *KeyringHarness) {
			const value = "a value that nobody may see"
			k := h.open(t, 1)
			var errs []error
			for _, version := range []int{h.open(t, 2).versions.Fingerprint, 0} {
				errs = append(errs, k.Fingerprint(t.Context(), version, fingerprintItems(emails, value), make([]keyring.Fingerprint, 1)))
			}
			errs = append(errs, k.Fingerprint(t.Context(), k.versions.Fingerprint, fingerprintItems(emails, value, value), make([]keyring.Fingerprint, 1)))
			sealed := k.seal(t, emails, theToken, value)
			for _, wrong := range []keyring.Sealed{
				{Version: sealed.Version, Ciphertext: sealed.Ciphertext[1:]}, {Version: sealed.Version, Ciphertext: []byte(value)},
				{Version: h.open(t, 2).versions.Seal, Ciphertext: sealed.Ciphertext}, {Ciphertext: []byte(value)},
			} {
				_, err := k.openOne(t.Context(), emails, theToken, wrong)
				errs = append(errs, err)
			}
			_, err := k.openOne(t.Context(), emails, "another token", sealed)
			for _, err := range append(errs, err) {
				require.Error(t, err)
				holdsNone(t, err, value, string(sealed.Ciphertext[:16]), string(sealed.Ciphertext[len(sealed.Ciphertext)-16:]))
			}
		}},
}

// useAtOnce does with a keyring what can be done, and returns an error if anything is not
// as it should be.
func useAtOnce(t *testing.T, k *ring, s keyring.Scope, value string, want keyring.Fingerprint) error {
	versions, err := k.Versions(t.Context())
	if err != nil {
		return err
	}
	if versions.Seal != k.versions.Seal || !slices.Equal(versions.Lookup, k.versions.Lookup) {
		return fmt.Errorf("the versions are %+v", versions)
	}
	var dst []keyring.Fingerprint
	for _, part := range fingerprintParts(k.Limits(), fingerprintItems(s, value, "ann@example.com", value)) {
		of := make([]keyring.Fingerprint, len(part))
		if err := k.Fingerprint(t.Context(), versions.Fingerprint, part, of); err != nil {
			return err
		}
		dst = append(dst, of...)
	}
	if dst[1] != want || dst[0] != dst[2] || dst[0] == dst[1] {
		return fmt.Errorf("the fingerprints of %+v are wrong", s)
	}
	sealed, err := k.sealOne(t.Context(), s, theToken, value)
	if err != nil {
		return err
	}
	got, err := k.openOne(t.Context(), s, theToken, sealed)
	if err == nil && got.Reveal() != value {
		return fmt.Errorf("what was sealed for %+v opens as something else", s)
	}
	return err
}

// holdsNone requires that an error shows none of the secrets, in whatever way it is
// printed.
func holdsNone(t *testing.T, err error, secrets ...string) {
	t.Helper()
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		for _, secret := range secrets {
			for _, form := range []string{
				secret, fmt.Sprintf("%q", secret), hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)),
				strings.Trim(fmt.Sprint([]byte(secret)), "[]"),
			} {
				require.False(t, strings.Contains(strings.ToLower(text), strings.ToLower(form)), "an error shows what it must not")
			}
		}
	}
}
