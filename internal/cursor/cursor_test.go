package cursor

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestRoundTrip(t *testing.T) {
	for _, at := range []time.Time{
		time.Date(2026, 11, 21, 10, 46, 0, 123456000, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
		time.UnixMicro(0).UTC(),
	} {
		id := uuid.New()
		gotAt, gotID, err := Decode(Encode(at, id))
		require.NoError(t, err)
		require.Equal(t, at, gotAt)
		require.Equal(t, id, gotID)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := Encode(time.Now(), uuid.New())
	for _, text := range []string{"", "x", good[1:], good + "A", good[:31] + "=", good[:31] + "\n", good[:31] + "+", "../../etc/passwd"} {
		_, _, err := Decode(text)
		require.ErrorIs(t, err, ErrInvalid, text)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(time.Unix(1, 0), uuid.Nil))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		at, id, err := Decode(text)
		if err == nil && Encode(at, id) != text {
			t.Fatalf("%q decodes, but is written as %q", text, Encode(at, id))
		}
	})
}

func Example() {
	text := Encode(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), uuid.Max)
	at, id, err := Decode(text)
	fmt.Println(len(text), at.Format(time.RFC3339), id == uuid.Max, err)
	// Output: 32 2026-11-21T12:00:00Z true <nil>
}

func TestTextRoundTrip(t *testing.T) {
	at := time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC)
	for _, id := range []string{"", "build", "\x00\xff", "twelve bytes"} {
		gotAt, gotID, err := DecodeText(EncodeText(at, id), 12)
		require.NoError(t, err)
		require.Equal(t, at, gotAt)
		require.Equal(t, id, gotID)
	}
	good := EncodeText(at, "build")
	for _, text := range []string{
		"", "x", good[:10], good + "=", good + "\n", good[:9] + "\r\n" + good[9:], good[:9] + "\n\n\n\n" + good[9:],
		EncodeText(at, "thirteen byte"), EncodeText(at, "ab") + "B", // bits that say nothing
	} {
		_, _, err := DecodeText(text, 12)
		require.ErrorIs(t, err, ErrInvalid, text)
	}
}

func FuzzDecodeText(f *testing.F) {
	f.Add(EncodeText(time.Unix(1, 0), "build"))
	f.Fuzz(func(t *testing.T, text string) {
		at, id, err := DecodeText(text, 100)
		if err == nil && EncodeText(at, id) != text {
			t.Fatalf("%q decodes, but is written as %q", text, EncodeText(at, id))
		}
	})
}
