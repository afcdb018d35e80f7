package mortise_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

func TestCursorOfPosition(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 46, 0, 123456000, time.UTC)
	id := uuid.MustParse("0192f0c1-2b3c-7d4e-8f50-a1b2c3d4e5f6")
	for _, p := range []mortise.Position{
		{At: at, ID: string(id[:])}, {At: at}, {ID: "a"}, {At: time.Unix(-1, 999_000).UTC(), ID: "nul\x00 ä"}, {},
	} {
		got, err := p.Cursor().Position()
		require.NoError(t, err)
		assert.Equal(t, p, got)
	}
	// Hosts keep cursors.
	p := mortise.Position{At: at, ID: string(id[:])}
	assert.Equal(t, mortise.Cursor("AAZgxxD-TEABkvDBKzx9To9QobLD1OX2"), p.Cursor())
	back, err := p.UUID()
	require.NoError(t, err)
	assert.Equal(t, id, back)
	_, err = mortise.Position{ID: "a"}.UUID()
	requireNoCursor(t, err)
	n, err := mortise.Position{ID: "\x00\x00\x00\x00\x00\x00\x01\x02"}.Number()
	require.NoError(t, err)
	assert.EqualValues(t, 258, n)
	for _, id := range []string{"a", "\x80\x00\x00\x00\x00\x00\x00\x00"} {
		_, err = mortise.Position{ID: id}.Number()
		requireNoCursor(t, err)
	}

	good := p.Cursor()
	for _, text := range []mortise.Cursor{"", "x", good[1:], good + "A", good + "\n", good[:31] + "=", "+" + good[1:]} {
		_, err := text.Position()
		requireNoCursor(t, err)
	}
}

func requireNoCursor(t *testing.T, err error) {
	t.Helper()
	var invalid *mortise.ValidationError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "after", invalid.Problems[0].Path.String())
}

func TestPositionCompare(t *testing.T) {
	at := time.Unix(7, 0)
	for i, p := range []mortise.Position{{At: at, ID: "b"}, {At: at.Add(1)}, {At: at, ID: "c"}, {At: at, ID: "bb"}} {
		other := mortise.Position{At: at.In(time.FixedZone("east", 3600)), ID: "b"}
		assert.Equal(t, min(i, 1), p.Compare(other))
		assert.Equal(t, -min(i, 1), other.Compare(p))
	}
}

func FuzzCursorPosition(f *testing.F) {
	f.Add(string(mortise.Position{At: time.Unix(1, 0), ID: "a"}.Cursor()))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := mortise.Cursor(text).Position(); err == nil && p.Cursor() != mortise.Cursor(text) {
			t.Fatalf("%q is read as %+v, which is written %q", text, p, p.Cursor())
		}
	})
}

// A page of a website ends with a link to the next page, which has the cursor in it.
func ExamplePage() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	check(err)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	service, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, &trigger.Options{
		Env: mortise.Env{Now: func() time.Time { now = now.Add(time.Minute); return now }},
	})
	check(err)
	for _, text := range []string{"Document --json.", "Document --quiet.", "Document --dry-run."} {
		_, err := service.Submit(ctx, "acme", "", trigger.Submission{Instructions: text})
		check(err)
	}

	show := func(link string) (next string) {
		page, err := service.ListEvents(ctx, "acme", trigger.EventQuery{After: mortise.Cursor(link), Limit: 2})
		check(err)
		for _, e := range page.Items {
			fmt.Println(e.Instructions)
		}
		return string(page.Next)
	}
	next := show("")
	fmt.Println("there is a next page:", next != "")
	fmt.Println("there is one after that:", show(next) != "")
	// Output:
	// Document --dry-run.
	// Document --quiet.
	// there is a next page: true
	// Document --json.
	// there is one after that: false
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
