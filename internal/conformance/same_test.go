package conformance

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
)

// TestDifference: it names the first field that differs, and shows a piece of it.
func TestDifference(t *testing.T) {
	type part struct {
		Name string
		At   time.Time
		ID   uuid.UUID
	}
	type row struct {
		Text  string
		Blob  []byte
		Parts []part
		Trace map[string]string
		Next  *part
		Any   any
	}
	long := strings.Repeat("0123456789", 100_000)
	for name, test := range map[string]struct {
		want, got any
		shown     string
	}{
		"text":              {row{Text: "a"}, row{Text: "b"}, "differs at Text:\nwant \"a\"\ngot  \"b\""},
		"first of two":      {row{Text: "a", Blob: []byte("x")}, row{Text: "b", Blob: []byte("y")}, "differs at Text:\nwant \"a\"\ngot  \"b\""},
		"blob":              {row{Blob: []byte("a")}, row{Blob: []byte("b\x00")}, "differs at Blob:\nwant \"a\"\ngot  \"b\\x00\""},
		"blob that is none": {row{Blob: []byte{}}, row{}, "differs at Blob:\nwant \"\"\ngot  \"nil\""},
		"cut": {row{Text: long}, row{Text: long[:999_999]}, "differs at Text:\n" +
			"want \"90123456789012345678901234567890123456789\", bytes 999959 to 1000000 of 1000000\n" +
			"got  \"9012345678901234567890123456789012345678\", bytes 999959 to 999999 of 999999"},
		"item": {row{Parts: []part{{Name: "a"}, {Name: "b"}}}, row{Parts: []part{{Name: "a"}, {Name: "c"}}},
			"differs at Parts[1].Name:\nwant \"b\"\ngot  \"c\""},
		"items that are missing": {row{Parts: []part{}}, row{}, "differs at Parts:\nwant \"0 items: []\"\ngot  \"nil\""},
		"fewer items":            {[]int{1, 2, 3}, []int{1, 2}, "differs:\nwant \"3 items: [1 2 3]\"\ngot  \"2 items: [1 2]\""},
		"entry": {row{Trace: map[string]string{"a": "1", "b": "2", "c": "3"}}, row{Trace: map[string]string{"a": "1", "b": "x", "c": "y"}},
			"differs at Trace:\nwant \"3 items: map[a:1 b:2 c:3]\"\ngot  \"3 items: map[a:1 b:x c:y]\""},
		"entry that is missing": {row{Trace: map[string]string{"b": "2"}}, row{Trace: map[string]string{}}, "differs at Trace:\nwant \"1 items: map[b:2]\"\ngot  \"0 items: map[]\""},
		"map that is none":      {row{Trace: map[string]string{}}, row{}, "differs at Trace:\nwant \"0 items: map[]\"\ngot  \"nil\""},
		"pointer":               {row{Next: &part{Name: "a"}}, row{Next: &part{Name: "b"}}, "differs at Next.Name:\nwant \"a\"\ngot  \"b\""},
		"nil":                   {row{Any: 1}, row{}, "differs at Any:\nwant \"1\"\ngot  \"<nil>\""},
		"type":                  {row{Any: 1}, row{Any: "1"}, "differs at Any:\nwant \"int 1\"\ngot  \"string 1\""},
		"time": {row{Next: &part{At: Moment(0)}}, row{Next: &part{At: Moment(time.Hour)}}, "differs at Next.At:\n" +
			"want \"2024-03-14 15:09:26.535897 +0000 UTC\"\ngot  \"2024-03-14 16:09:26.535897 +0000 UTC\""},
		"id": {part{ID: uuid.UUID{1}}, part{ID: uuid.UUID{2}}, "differs at ID:\n" +
			"want \"01000000-0000-0000-0000-000000000000\"\ngot  \"02000000-0000-0000-0000-000000000000\""},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.shown, difference("", reflect.ValueOf(test.want), reflect.ValueOf(test.got)))
		})
	}
}
