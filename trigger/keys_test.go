package trigger_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/printed"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

func TestKeys(t *testing.T) {
	f := triggertest.New(t, nil)
	record, key, err := f.IssueKey(t.Context(), "acme", "", "ci")
	require.NoError(t, err)
	assert.Regexp(t, "^sk-[0-9a-f]{64}$", key.Reveal())
	_, second, err := f.IssueKey(t.Context(), "acme", "", "")
	require.NoError(t, err)
	assert.NotEqual(t, key.Reveal(), second.Reveal())

	verified, err := f.VerifyKey(t.Context(), key.Reveal())
	require.NoError(t, err)
	assert.Equal(t, record, verified)
	_, err = f.VerifyKey(t.Context(), key.Reveal()+"0")
	require.ErrorIs(t, err, trigger.ErrInvalidKey)
	_, err = f.VerifyKey(t.Context(), strings.Repeat("x", 5000))
	require.ErrorIs(t, err, trigger.ErrInvalidKey)

	f.Advance(time.Minute)
	require.ErrorIs(t, f.RevokeKey(t.Context(), "other", "", record.ID), mortise.ErrNotFound)
	require.NoError(t, f.RevokeKey(t.Context(), "acme", "", record.ID))
	revokedAt := f.Now()
	f.Advance(time.Minute)
	require.NoError(t, f.RevokeKey(t.Context(), "acme", "", record.ID))
	_, err = f.VerifyKey(t.Context(), key.Reveal())
	require.ErrorIs(t, err, trigger.ErrInvalidKey)
	found, err := f.FindKey(t.Context(), key.Reveal())
	require.NoError(t, err, "FindKey finds revoked keys too")
	assert.Equal(t, revokedAt, found.RevokedAt, "the first revocation counts")

	list, err := f.ListKeys(t.Context(), "acme", "", 0)
	require.NoError(t, err)
	assert.Len(t, list.Items, 2)
	list, err = f.ListKeys(t.Context(), "other", "", 0)
	require.NoError(t, err)
	assert.Empty(t, list.Items)
}

func TestImportKey(t *testing.T) {
	f := triggertest.New(t, nil)
	for _, length := range []int{31, 1025} {
		_, err := f.ImportKey(t.Context(), "acme", "", "", strings.Repeat("0123456789", 103)[:length])
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid)
	}
	for _, length := range []int{32, 128, 129, 1024} {
		key := strings.Repeat("0123456789", 103)[:length]
		_, err := f.ImportKey(t.Context(), "acme", "", "", key)
		require.NoError(t, err)
		_, err = f.ImportKey(t.Context(), "other", "", "", key)
		require.ErrorIs(t, err, mortise.ErrExists)
		k, err := f.VerifyKey(t.Context(), key)
		require.NoError(t, err)
		assert.Equal(t, "acme", k.Organization)
	}
	_, err := f.ImportKey(t.Context(), "", "", "bad\xff", strings.Repeat("guessable", 4))
	var invalid *mortise.ValidationError
	require.ErrorAs(t, err, &invalid)
	assert.Len(t, invalid.Problems, 3)
	assert.ErrorContains(t, err, "key: must be random: it has fewer than 10 different characters")
}

func TestKeysWithoutAStore(t *testing.T) {
	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	_, _, err = s.IssueKey(t.Context(), "acme", "", "")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = s.VerifyKey(t.Context(), "k")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = s.ListKeys(t.Context(), "acme", "", 0)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, s.RevokeKey(t.Context(), "acme", "", uuid.Nil), errors.ErrUnsupported)
	require.NoError(t, s.FlushKeyUse(t.Context()))
}

func TestLastUseIsWrittenBehind(t *testing.T) {
	f := triggertest.New(t, nil)
	record, key, err := f.IssueKey(t.Context(), "acme", "", "")
	require.NoError(t, err)
	use := func() {
		_, err := f.VerifyKey(t.Context(), key.Reveal())
		require.NoError(t, err)
	}
	lastUse := func() time.Time {
		k, err := f.FindKey(t.Context(), key.Reveal())
		require.NoError(t, err)
		return k.LastUsedAt
	}
	use()
	assert.True(t, lastUse().IsZero(), "not before the sweeper")
	f.Drain(t.Context())
	first := lastUse()
	assert.Equal(t, f.Now(), first)

	f.Advance(59 * time.Second)
	use()
	f.Drain(t.Context())
	assert.Equal(t, first, lastUse(), "at most once a minute")

	f.Advance(time.Second)
	use()
	f.Advance(time.Second)
	use()
	heal := f.Break(triggertest.APIKeysPart)
	require.ErrorIs(t, f.FlushKeyUse(t.Context()), mortise.ErrUnavailable)
	heal()
	require.NoError(t, f.FlushKeyUse(t.Context()), "a write that failed is tried again")
	assert.Equal(t, f.Now(), lastUse(), "the latest use of those waiting")

	list, err := f.ListKeys(t.Context(), "acme", "", 0)
	require.NoError(t, err)
	assert.Equal(t, record.ID, list.Items[0].ID)
}

func TestBrokenKeyStoreIsNoInvalidKey(t *testing.T) {
	f := triggertest.New(t, nil)
	record, key, err := f.IssueKey(t.Context(), "acme", "", "")
	require.NoError(t, err)
	f.Break(triggertest.APIKeysPart)
	_, err = f.VerifyKey(t.Context(), key.Reveal())
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.NotErrorIs(t, err, trigger.ErrInvalidKey)
	require.ErrorIs(t, f.RevokeKey(t.Context(), "acme", "", record.ID), mortise.ErrUnavailable)
	_, err = f.ListKeys(t.Context(), "acme", "", 0)
	require.ErrorIs(t, err, mortise.ErrUnavailable)
}

func TestNoKeyInLogsErrorsOrObservations(t *testing.T) {
	var logs bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	f := triggertest.New(t, &triggertest.Options{Service: trigger.Options{Env: mortise.Env{Logger: logger}}})
	record, key, err := f.IssueKey(t.Context(), "acme", "", "ci")
	require.NoError(t, err)
	issued, err := printed.Ways(struct {
		Record trigger.APIKey
		Key    mortise.Secret
	}{record, key})
	require.NoError(t, err)
	texts := []string{issued}
	note := func(err error) {
		require.Error(t, err)
		texts = append(texts, fmt.Sprintf("%v %+v %#v", err, err, err))
	}
	_, err = f.ImportKey(t.Context(), "acme", "", "", key.Reveal())
	note(err)
	_, err = f.ImportKey(t.Context(), "acme", "", "", "very-secret-short")
	note(err)
	_, err = f.VerifyKey(t.Context(), key.Reveal()+"x")
	note(err)
	_, err = f.VerifyKey(t.Context(), key.Reveal())
	require.NoError(t, err)
	f.Break(triggertest.APIKeysPart)
	_, err = f.VerifyKey(t.Context(), key.Reveal())
	note(err)
	_, err = f.ImportKey(t.Context(), "acme", "", "", key.Reveal()+"2")
	note(err)
	note(f.RevokeKey(t.Context(), "acme", "", record.ID))
	note(f.FlushKeyUse(t.Context()))
	f.Drain(t.Context())
	for _, o := range f.Observations() {
		shown, err := printed.Ways(o)
		require.NoError(t, err)
		texts = append(texts, shown)
	}
	texts = append(texts, logs.String())
	for _, text := range texts {
		assert.Empty(t, printed.Found(text, strings.TrimPrefix(key.Reveal(), "sk-")))
	}
}

func TestIssueKeyWithoutRandomness(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Service: trigger.Options{Env: mortise.Env{Rand: iotest.ErrReader(errors.New("no entropy"))}}})
	_, key, err := f.IssueKey(t.Context(), "acme", "", "")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	assert.True(t, key.IsZero())
}
