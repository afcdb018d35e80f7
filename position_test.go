package mortise_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

func TestPositionText(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 46, 0, 123456000, time.UTC)
	for _, p := range []mortise.Position{
		{}, {At: at, ID: uuid.New()}, {At: at}, {ID: uuid.Max}, {At: time.Unix(-1, 999_000).UTC(), ID: uuid.New()},
	} {
		got, err := mortise.ParsePosition(p.String())
		require.NoError(t, err)
		assert.Equal(t, p, got)
		assert.Equal(t, p.IsZero(), p.String() == "")
	}
	// Hosts keep such texts.
	old := mortise.Position{At: at, ID: uuid.MustParse("0192f0c1-2b3c-7d4e-8f50-a1b2c3d4e5f6")}
	assert.Equal(t, "AAZgxxD-TEABkvDBKzx9To9QobLD1OX2", old.String())

	good := mortise.Position{At: at, ID: uuid.New()}.String()
	zero := strings.TrimSuffix(mortise.Position{ID: uuid.UUID{15: 1}}.String(), "B") + "A"
	for _, text := range []string{"x", good[1:], good + "A", good + "\n", good[:31] + "=", "+" + good[1:], zero} {
		_, err := mortise.ParsePosition(text)
		assert.Error(t, err, text)
	}
}

func TestPositionCompare(t *testing.T) {
	at := time.Unix(7, 0)
	for i, p := range []mortise.Position{
		{At: at, ID: uuid.UUID{1}}, {At: at.Add(1)}, {At: at, ID: uuid.UUID{2}}, {At: at, ID: uuid.UUID{200}},
	} {
		other := mortise.Position{At: at.In(time.FixedZone("east", 3600)), ID: uuid.UUID{1}}
		assert.Equal(t, min(i, 1), p.Compare(other))
		assert.Equal(t, -min(i, 1), other.Compare(p))
		assert.False(t, p.IsZero())
	}
	assert.True(t, mortise.Position{At: time.Time{}.In(time.FixedZone("east", 3600))}.IsZero())
}

func FuzzParsePosition(f *testing.F) {
	f.Add(mortise.Position{At: time.Unix(1, 0), ID: uuid.Max}.String())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := mortise.ParsePosition(text); err == nil && p.String() != text {
			t.Fatalf("%q is read as %+v, which is written %q", text, p, p.String())
		}
	})
}

// A page of a website ends with a link to the next one, which has the position in it.
func ExampleParsePosition() {
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
		before, err := mortise.ParsePosition(link)
		check(err)
		page, err := service.ListEvents(ctx, "acme", trigger.EventQuery{After: before, Limit: 2})
		check(err)
		for _, e := range page.Items {
			fmt.Println(e.Instructions)
		}
		return page.Next.String()
	}
	next := show("")
	fmt.Println("the link has", len(next), "characters")
	fmt.Printf("the link behind the last one: %q\n", show(next))
	// Output:
	// Document --dry-run.
	// Document --quiet.
	// the link has 32 characters
	// Document --json.
	// the link behind the last one: ""
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
