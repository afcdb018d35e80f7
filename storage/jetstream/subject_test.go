package jetstream

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

// TestSubjects: a subject has five tokens and says which job it is, whatever the
// organization is called. No two organizations share a token.
func TestSubjects(t *testing.T) {
	t.Parallel()
	q := &Queue{opts: Options{Name: "M"}}
	r := rand.New(rand.NewPCG(1, 2))
	orgs := []string{"acme", "ACME", "a.b", "*", ">", "=", "=YQ", "a", "\x01", "\ufffd\u00e4", " ", "-_09", strings.Repeat("\x7f", 255)}
	for range 2000 {
		org := make([]byte, 1+r.IntN(40))
		for i := range org {
			org[i] = "aA0-_=.*> \x01\x7f"[r.IntN(12)]
		}
		orgs = append(orgs, string(org))
	}
	of := make(map[string]string)
	for _, org := range orgs {
		j := mortise.Job{Kind: "docs", Organization: org, ID: "Id-_9"}
		subject := q.subject(ready, &j)
		require.Equal(t, 4, strings.Count(subject, "."), subject)
		require.Regexp(t, `^M\.ready\.docs\.[-=A-Za-z0-9_]+\.Id-_9$`, subject)
		got, err := jobAt(subject)
		require.NoError(t, err)
		require.Equal(t, j, got)
		if before, ok := of[subject]; ok {
			require.Equal(t, before, org)
		}
		of[subject] = org
	}
	assert.Equal(t, "M.ready.docs.acme.Id-_9", q.subject(ready, &mortise.Job{Kind: "docs", Organization: "acme", ID: "Id-_9"}))
}

// FuzzJobAt: no subject is too strange, and what is taken for a job is one.
func FuzzJobAt(f *testing.F) {
	for _, s := range []string{"", "M.ready.docs.acme.1", "M.ready.docs.=YQ.1", "M.ready.docs.=YR.1", "M.ready..a.1", "a.b.c.d.e.f"} {
		f.Add(s, []byte("tracestate=a%3Db"))
	}
	f.Fuzz(func(t *testing.T, subject string, trace []byte) {
		if j, err := jobAt(subject); err == nil {
			require.NoError(t, j.Check())
		}
		if got, err := traceOf(trace); err == nil {
			again, err := traceOf(traceText(got))
			require.NoError(t, err)
			if len(got) > 0 {
				require.Equal(t, got, again)
			}
		}
	})
}
