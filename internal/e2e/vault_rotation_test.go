package e2e

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// TestRotationOfTwoProcesses: two processes insert the same new values at the same time,
// and ask for the tokens of old ones, while a third one rotates the keys several times. The
// two come to each step of a rotation one after the other. Every value keeps its one
// token throughout.
func TestRotationOfTwoProcesses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "vault.db")
	newRotationFile(t, file, nil)
	one, two, rotator := startRotation(t, file), startRotation(t, file), startRotation(t, file)
	base := 0
	// work has both at work on the same values, from new ones on, and waits until they
	// have done some of it.
	work := func(lagging bool) {
		t.Helper()
		base += 1_000_000
		var begun [2]int
		for i, p := range []*rotationProcess{one, two} {
			begun[i] = p.tell(rotationOrder{Do: "work", Base: base, Lagging: lagging}).Calls
		}
		for i, p := range []*rotationProcess{one, two} {
			for deadline := time.Now().Add(endurance); p.tell(rotationOrder{Do: "calls"}).Calls < begun[i]+5; time.Sleep(5 * time.Millisecond) {
				require.True(t, time.Now().Before(deadline), "the processes get nowhere")
			}
		}
	}
	one.load(1)
	two.load(1)
	work(false)
	const rotations = 2
	for old := 1; old <= rotations; old++ {
		next := old + 1
		// The processes load the new version. In the second rotation one of them does so
		// too late: what it could have stored nobody would find, so it can store nothing.
		late := old == 2
		one.load(old, next)
		work(late)
		if !late {
			two.load(old, next)
			work(false)
		}
		rotator.load(old, next)
		rotator.tell(rotationOrder{Do: "backfill", Version: next})
		if late {
			work(true)
			two.load(old, next)
		}
		work(false)

		one.load(next, old)
		work(false)
		two.load(next, old)
		work(false)
		rotator.load(next, old)
		rotator.tell(rotationOrder{Do: "rewrap"})
		rotator.tell(rotationOrder{Do: "retire", Purpose: keyring.SealKey, Version: old})
		rotator.tell(rotationOrder{Do: "retire", Purpose: keyring.FingerprintKey, Version: old})
		work(false)
		one.load(next)
		work(false)
		two.load(next)
		work(false)
	}
	told := one.tell(rotationOrder{Do: "end"}).Tokens
	also := two.tell(rotationOrder{Do: "end"}).Tokens
	both := 0
	for value, token := range also {
		if other, ok := told[value]; ok {
			both++
			require.Equal(t, token, other, value)
		}
		told[value] = token
	}
	assert.Positive(t, both, "the processes never met")
	values := slices.Sorted(maps.Keys(told))
	tokens := make([]string, len(values))
	for i, value := range values {
		tokens[i] = told[value]
	}
	checkRotated(t, file, rotations+1, values, tokens)
	t.Logf("%d values, of which both processes inserted %d", len(values), both)
}

// TestRotationGoesOn: a process that is killed in the middle of a step of a rotation
// leaves nothing that is wrong, and the next one goes on where it was.
//
// MORTISE_SEED=N kills at the same moments.
func TestRotationGoesOn(t *testing.T) {
	t.Parallel()
	const count = 2000
	moments := rand.New(rand.NewPCG(seeded(t), 1<<36))
	file := filepath.Join(t.TempDir(), "vault.db")
	values := make([]string, count)
	for i := range values {
		values[i] = fmt.Sprintf("value %d", i)
	}
	tokens := newRotationFile(t, file, values)
	kills := make(map[string][]string)
	for _, step := range []struct {
		keys  []int
		order rotationOrder
		left  func(keyring.Usage) int // how much is to be done
	}{
		{[]int{1, 2}, rotationOrder{Do: "backfill", Version: 2}, func(u keyring.Usage) int { return count - u.Fingerprints[2] }},
		{[]int{2, 1}, rotationOrder{Do: "rewrap"}, func(u keyring.Usage) int { return u.Sealed[1] }},
		{[]int{2, 1}, rotationOrder{Do: "retire", Purpose: keyring.FingerprintKey, Version: 1}, func(u keyring.Usage) int { return u.Fingerprints[1] }},
	} {
		left := count
		for range 2 {
			p := startRotation(t, file)
			p.load(step.keys...)
			order := step.order
			order.Pause = 2 * time.Millisecond
			require.NoError(t, p.orders.Encode(order))
			last := p.next()
			done := count - left
			if order.Do == "retire" {
				done = 0 // what is gone does not count any more
			}
			assert.GreaterOrEqual(t, last.Progress.Done, done, "%s begins anew", order.Do)
			for range moments.IntN(3) {
				if last = p.next(); last.Over {
					break
				}
			}
			time.Sleep(time.Duration(moments.IntN(4000)) * time.Microsecond)
			p.kill()
			left = step.left(rotationUsage(t, file))
			kills[order.Do] = append(kills[order.Do], fmt.Sprint(left))
			checkTokens(t, file, step.keys, values, tokens)
		}
		p := startRotation(t, file)
		p.load(step.keys...)
		p.tell(step.order)
		require.Zero(t, step.left(rotationUsage(t, file)), step.order.Do)
	}
	p := startRotation(t, file)
	p.load(2, 1)
	p.tell(rotationOrder{Do: "retire", Purpose: keyring.SealKey, Version: 1})
	checkRotated(t, file, 2, values, tokens)
	t.Logf("of %d rows, after each kill there were left: %v", count, kills)
}

// rotationUsage counts what is stored under each version.
func rotationUsage(t *testing.T, file string) keyring.Usage {
	t.Helper()
	db, err := sqlite.Open(t.Context(), file, nil)
	require.NoError(t, err)
	defer db.Close()
	usage, err := db.Vault().Store.KeyUsage(t.Context())
	require.NoError(t, err)
	return usage
}

// checkTokens asks for the tokens of values, and for the values of tokens.
func checkTokens(t *testing.T, file string, keys []int, values, tokens []string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), file, nil)
	require.NoError(t, err)
	defer db.Close()
	service, err := rotationService(db.Vault().Store, keys)
	require.NoError(t, err)
	var found []string
	for batch := range batchesOf(values) {
		given, err := service.Tokenize(t.Context(), "acme", "v1", rotationItems(batch))
		require.NoError(t, err)
		found = append(found, given...)
	}
	require.Equal(t, tokens, found)
	open := make(map[string]string)
	for e, err := range service.Export(t.Context(), "acme", "ops", "v1", func(vault.Field) vault.Redaction { return vault.PlainText }) {
		require.NoError(t, err)
		open[e.Token] = e.Value.Reveal()
	}
	require.Len(t, open, len(values))
	for i, token := range tokens {
		require.Equal(t, values[i], open[token])
	}
}

// checkRotated wants everything to be under one version of the keys, and nothing under
// any other.
func checkRotated(t *testing.T, file string, version int, values, tokens []string) {
	t.Helper()
	checkTokens(t, file, []int{version}, values, tokens)
	all := map[int]int{version: len(values)}
	assert.Equal(t, keyring.Usage{Rows: len(values), Deterministic: len(values), Fingerprints: all, Sealed: all}, rotationUsage(t, file))
}

// batchesOf cuts values into batches that a call takes.
func batchesOf(values []string) iter.Seq[[]string] { return slices.Chunk(values, 1000) }
