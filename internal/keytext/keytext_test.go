package keytext_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/keytext"
)

func TestParse(t *testing.T) {
	key := [32]byte([]byte("not random, and nobody's key !?>"))
	for _, text := range []string{hex.EncodeToString(key[:]), " " + base64.StdEncoding.EncodeToString(key[:]) + "\n", base64.RawURLEncoding.EncodeToString(key[:])} {
		got, err := keytext.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, key, got)
	}
	for text, want := range map[string]error{
		"": keytext.ErrText, "g": keytext.ErrText, hex.EncodeToString(key[:31]): keytext.ErrText, hex.EncodeToString(make([]byte, 32)): keytext.ErrZero,
	} {
		_, err := keytext.Parse(text)
		assert.ErrorIs(t, err, want, "%q", text)
	}
}

// A file that is longer than a key's can be is refused, also if it begins with a key.
func TestFromFile(t *testing.T) {
	key := hex.EncodeToString([]byte("not random, and nobody's key !?>"))
	path := filepath.Join(t.TempDir(), "key")
	for size, want := range map[int]error{4096: nil, 4097: keytext.ErrText} {
		require.NoError(t, os.WriteFile(path, append([]byte(key), bytes.Repeat([]byte(" "), size-len(key))...), 0o600))
		_, err := keytext.FromFile(path)
		assert.ErrorIs(t, err, want, "%d bytes", size)
	}
}

func TestPredictable(t *testing.T) {
	var counted, down, few [32]byte
	for i := range counted {
		counted[i], down[i], few[i] = byte(i), byte(200-i), byte(i%9)
	}
	for _, key := range [][32]byte{{}, {1}, counted, down, few} {
		assert.True(t, keytext.Predictable(key))
	}
	for range 1000 {
		var key [32]byte
		_, _ = rand.Read(key[:]) // never fails
		require.False(t, keytext.Predictable(key))
	}
}
