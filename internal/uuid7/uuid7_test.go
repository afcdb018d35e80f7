package uuid7_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/uuid7"
)

func TestOrderAndForm(t *testing.T) {
	var s uuid7.Source
	now := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	var last uuid.UUID
	for i := range 3000 {
		if i%3 == 0 {
			now = now.Add(time.Microsecond)
		}
		id, err := s.New(rand.Reader, now)
		require.NoError(t, err)
		require.Equal(t, uuid.Version(7), id.Version())
		require.Equal(t, uuid.RFC4122, id.Variant())
		require.Positive(t, bytes.Compare(id[:], last[:]), "%s after %s", id, last)
		seconds, nanoseconds := id.Time().UnixTime()
		require.Equal(t, now.UnixMilli(), time.Unix(seconds, nanoseconds).UnixMilli())
		last = id
	}
}

func TestTooLittleRandomness(t *testing.T) {
	var s uuid7.Source
	broken := errors.New("no entropy")
	id, err := s.New(iotest.ErrReader(broken), time.Now())
	assert.ErrorIs(t, err, broken)
	assert.Equal(t, uuid.Nil, id)
	_, err = s.New(bytes.NewReader(make([]byte, 5)), time.Now())
	assert.Error(t, err)
}

func Example() {
	var s uuid7.Source
	now := time.UnixMilli(1_767_225_600_000)
	for range 2 {
		id, err := s.New(bytes.NewReader(make([]byte, 6)), now)
		fmt.Println(id, err)
	}
	// Output:
	// 019b76da-a800-7000-8001-000000000000 <nil>
	// 019b76da-a800-7000-8002-000000000000 <nil>
}
