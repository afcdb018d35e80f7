package vaulttest

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// theToken is what the suite's values are sealed for, if it does not matter.
const theToken = "tok_m7x2"

// sealRules are the rules of Seal.
var sealRules = []keyringRule{
	{Rule: Rule{"keyring/seal-and-open", "Open returns what was sealed: any bytes, none, and 64 KiB."},
		check: func(t *testing.T, h *KeyringHarness) {
			k, again := h.open(t, 1), h.open(t, 1)
			for _, value := range hardValues() {
				sealed := k.seal(t, emails, theToken, value)
				k.opens(t, emails, theToken, sealed, value)
				again.opens(t, emails, theToken, sealed, value)
			}
			for _, place := range places {
				k.opens(t, place, "", k.seal(t, place, "", "ann"), "ann")
			}
		}},

	{Rule: Rule{"keyring/seal-names-its-version", "Seal uses Versions.Seal, and says so."},
		check: func(t *testing.T, h *KeyringHarness) {
			for _, generations := range [][]int{{1}, {1, 2}, {2, 1}, {3, 1, 2}} {
				k := h.open(t, generations...)
				require.Equal(t, k.versions.Seal, k.seal(t, emails, theToken, "ann").Version)
			}
		}},

	{Rule: Rule{"keyring/seal-hides", "What is sealed shows nothing of the value but its length: the same value, sealed again, is something else."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			const value = "a value that is long enough to be found again"
			seen := make(map[string]bool)
			for range 100 {
				sealed := string(k.seal(t, emails, theToken, value).Ciphertext)
				require.False(t, seen[sealed], "sealed twice, it is the same")
				seen[sealed] = true
				for i := 0; i+8 <= len(value); i++ {
					require.NotContains(t, sealed, value[i:i+8])
				}
			}
		}},

	{Rule: Rule{"keyring/seal-of-older-keys", "What was sealed by a version opens wherever it is loaded, also if another one seals now."},
		check: func(t *testing.T, h *KeyringHarness) {
			old := h.open(t, 1).seal(t, emails, theToken, "ann")
			for _, generations := range [][]int{{1, 2}, {2, 1}, {3, 2, 1}} {
				h.open(t, generations...).opens(t, emails, theToken, old, "ann")
			}
			young := h.open(t, 2).seal(t, emails, theToken, "bea")
			h.open(t, 1, 2).opens(t, emails, theToken, young, "bea")
		}},
}

// openRules say what Open refuses.
var openRules = []keyringRule{
	{Rule: Rule{"keyring/open-in-another-scope", "Open is ErrCorrupt if the value was sealed for another scope: of another organization, another vault, or another one of the vault."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			for i, place := range places {
				sealed := k.seal(t, place, theToken, "ann@example.com")
				for j, other := range places {
					if i != j {
						k.refuses(t, other, theToken, sealed, keyring.ErrCorrupt, "moved from one scope to another")
					}
				}
			}
		}},

	{Rule: Rule{"keyring/open-for-another-token", "Open is ErrCorrupt if the value was sealed for another token, wherever the scope ends and the token begins."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			sealed := k.seal(t, emails, theToken, "ann@example.com")
			for _, token := range []string{"", "tok_m7x3", "TOK_M7X2", theToken + " ", theToken + "\x00", "\x00" + theToken, theToken[1:], theToken[:7]} {
				k.refuses(t, emails, token, sealed, keyring.ErrCorrupt, "moved to another token")
			}
			longer, shorter := emails, emails
			longer.Name += "t"
			shorter.Name = emails.Name[:len(emails.Name)-1]
			k.refuses(t, longer, theToken[1:], sealed, keyring.ErrCorrupt, "a byte of the token is in the scope")
			k.refuses(t, shorter, "l"+theToken, sealed, keyring.ErrCorrupt, "a byte of the scope is in the token")
		}},

	{Rule: Rule{"keyring/open-of-another-version", "Open is ErrCorrupt if the value was sealed by another version than it says."},
		check: func(t *testing.T, h *KeyringHarness) {
			k, two := h.open(t, 1, 2), h.open(t, 2, 1)
			sealed, other := k.seal(t, emails, theToken, "ann"), two.seal(t, emails, theToken, "ann")
			sealed.Version, other.Version = other.Version, sealed.Version
			k.refuses(t, emails, theToken, sealed, keyring.ErrCorrupt, "the number of another version")
			two.refuses(t, emails, theToken, other, keyring.ErrCorrupt, "the number of another version")
		}},

	{Rule: Rule{"keyring/open-flipped-bit", "Open is ErrCorrupt if one bit of the ciphertext is another one, wherever it is."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			for _, value := range []string{"", "ann@example.com"} {
				sealed := k.seal(t, emails, theToken, value)
				for bit := range 8 * len(sealed.Ciphertext) {
					sealed.Ciphertext[bit/8] ^= 1 << (bit % 8)
					k.refuses(t, emails, theToken, sealed, keyring.ErrCorrupt, "a flipped bit")
					sealed.Ciphertext[bit/8] ^= 1 << (bit % 8)
				}
				k.opens(t, emails, theToken, sealed, value)
			}
			sealed := k.seal(t, emails, theToken, string(make([]byte, 64<<10)))
			for at := 0; at < len(sealed.Ciphertext); at += 997 {
				sealed.Ciphertext[at] ^= 0x80
				k.refuses(t, emails, theToken, sealed, keyring.ErrCorrupt, "a flipped bit of a long value")
				sealed.Ciphertext[at] ^= 0x80
			}
		}},

	{Rule: Rule{"keyring/open-cut", "Open is ErrCorrupt if the ciphertext is empty, cut at either end, or longer than it was."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			for _, value := range []string{"", "ann@example.com"} {
				sealed := k.seal(t, emails, theToken, value)
				whole := sealed.Ciphertext
				wrong := [][]byte{nil, {}, {0}, make([]byte, len(whole)), append(bytes.Clone(whole), 0), append([]byte{0}, whole...), append(bytes.Clone(whole), whole...)}
				for n := 1; n < len(whole); n++ {
					wrong = append(wrong, whole[:n], whole[n:])
				}
				for _, ciphertext := range wrong {
					k.refuses(t, emails, theToken, keyring.Sealed{Version: sealed.Version, Ciphertext: ciphertext}, keyring.ErrCorrupt, "cut or lengthened")
				}
			}
		}},

	{Rule: Rule{"keyring/open-unknown-version", "Open is ErrUnknownKey, not ErrCorrupt, if the version is not loaded."},
		check: func(t *testing.T, h *KeyringHarness) {
			k := h.open(t, 1)
			other := h.open(t, 2).seal(t, emails, theToken, "ann")
			k.refuses(t, emails, theToken, other, keyring.ErrUnknownKey, "a generation that is not loaded")
			sealed := k.seal(t, emails, theToken, "ann")
			for _, version := range []int{0, -1, -sealed.Version, 1<<31 - 1} {
				sealed.Version = version
				k.refuses(t, emails, theToken, sealed, keyring.ErrUnknownKey, "no such version")
			}
			k.refuses(t, emails, theToken, keyring.Sealed{Version: other.Version}, keyring.ErrUnknownKey, "nothing, of a version that is not loaded")
		}},

	{Rule: Rule{"keyring/open-needs-the-key", "Open is ErrCorrupt if the value was sealed by another key."}, needs: needForeign,
		check: func(t *testing.T, h *KeyringHarness) {
			k, foreign := h.open(t, 1), newRing(t, h.Foreign(t, 1))
			require.Equal(t, k.versions, foreign.versions, "the versions of Foreign")
			k.refuses(t, emails, theToken, foreign.seal(t, emails, theToken, "ann"), keyring.ErrCorrupt, "sealed elsewhere")
			foreign.refuses(t, emails, theToken, k.seal(t, emails, theToken, "ann"), keyring.ErrCorrupt, "sealed elsewhere")
		}},
}
