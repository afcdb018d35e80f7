package secret_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/secret"
)

func TestIssue(t *testing.T) {
	text, err := secret.Issue(bytes.NewReader(bytes.Repeat([]byte{0x01, 0xab}, 16)), "sk-")
	require.NoError(t, err)
	assert.Equal(t, "sk-"+strings.Repeat("01ab", 16), text, "every bit is used")
	assert.GreaterOrEqual(t, len(text), secret.MinImported)

	seen := make(map[string]bool)
	for range 100 {
		text, err := secret.Issue(rand.Reader, "")
		require.NoError(t, err)
		require.Len(t, text, 64)
		require.False(t, seen[text])
		seen[text] = true
	}
}

func TestIssueWithTooLittleRandomness(t *testing.T) {
	broken := errors.New("no entropy")
	text, err := secret.Issue(iotest.ErrReader(broken), "sk-")
	require.ErrorIs(t, err, broken)
	assert.Empty(t, text)
	text, err = secret.Issue(bytes.NewReader(make([]byte, 31)), "sk-")
	require.Error(t, err, "31 bytes are not enough")
	assert.Empty(t, text)
}

func TestImportProblem(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("0123456789", 4)[:31]:     "must be 32 to 1024 bytes long",
		strings.Repeat("0123456789", 103)[:32]:   "",
		strings.Repeat("0123456789", 103)[:1024]: "",
		strings.Repeat("0123456789", 103)[:1025]: "must be 32 to 1024 bytes long",
		strings.Repeat("a", 32):                  "must be random: it has fewer than 10 different characters",
		strings.Repeat("012345678", 4):           "must be random: it has fewer than 10 different characters",
		strings.Repeat("\xff\xfe", 16):           "must be random: it has fewer than 10 different characters",
	} {
		assert.Equal(t, want, secret.ImportProblem(text), "%q", text)
	}
	for range 100 {
		text, err := secret.Issue(rand.Reader, "")
		require.NoError(t, err)
		require.Empty(t, secret.ImportProblem(text))
	}
}

func TestSum(t *testing.T) {
	for _, length := range []int{0, 1, 32, 127, 128, 129, 1024, 5000} {
		text := strings.Repeat("\x00k", length)[:length]
		assert.Equal(t, sha256.Sum256([]byte(text)), secret.Sum(text), "%d bytes", length)
	}
}

func TestSumKeepsOrdinarySecretsOffTheHeap(t *testing.T) {
	text := strings.Repeat("k", 128)
	assert.Zero(t, testing.AllocsPerRun(100, func() { secret.Sum(text) }))
}

func TestEqual(t *testing.T) {
	a := secret.Sum("a")
	assert.True(t, secret.Equal(a, secret.Sum("a")))
	for i := range a {
		b := a
		b[i] ^= 1
		assert.False(t, secret.Equal(a, b), "byte %d", i)
	}
}
