package vault_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// slow is a service of the rig's store with versions of the keys, on whose clock every
// batch takes 400 ms, if tick hears of the progress and of how much was done before. It
// notes what its Observer hears.
func slow(t *testing.T, r *rig, heard *[]mortise.Observation, versions ...int) (s *vault.Service, tick func(p vault.Progress, before int)) {
	t.Helper()
	now := begin
	s, err := vault.New(vault.Backend{Store: r.store}, newKeyring(t, versions[0], versions[1:]...), &vault.Options{
		Env: mortise.Env{Now: func() time.Time { return now }, Observer: func(_ context.Context, o mortise.Observation) {
			o.Service, o.Reason = "", ""
			*heard = append(*heard, o)
		}},
	})
	require.NoError(t, err)
	return s, func(p vault.Progress, before int) {
		if p.Done > before {
			now = now.Add(400 * time.Millisecond)
		}
	}
}

// steps are those of a rotation from version 1 to 2 that take long.
func steps(ctx context.Context, added, promoted *vault.Service) []func(progress func(vault.Progress)) error {
	return []func(func(vault.Progress)) error{
		func(p func(vault.Progress)) error { return added.Backfill(ctx, 2, p) },
		func(p func(vault.Progress)) error { return promoted.Rewrap(ctx, p) },
		func(p func(vault.Progress)) error { return promoted.Retire(ctx, keyring.FingerprintKey, 1, p) },
	}
}

// TestObserverHearsOfProgress: the Observer hears how far a step of a rotation is and how
// long the rest takes, when the step begins and then once a second, and that all is done
// at its end.
func TestObserverHearsOfProgress(t *testing.T) {
	const all = 6000 // twelve batches
	r := newRig(t, vault.Options{})
	insertAll(t, r.Service, values(all/2))
	var heard []mortise.Observation
	added, one := slow(t, r, &heard, 1, 2)
	promoted, two := slow(t, r, &heard, 2, 1)
	kinds := [][2]mortise.Kind{
		{mortise.KindBackfilling, mortise.KindBackfilled}, {mortise.KindRewrapping, mortise.KindRewrapped}, {mortise.KindKeyRetiring, mortise.KindKeyRetired},
	}
	for i, step := range steps(t.Context(), added, promoted) {
		heard = nil
		require.NoError(t, step(func(p vault.Progress) { one(p, 0); two(p, 0) }))
		// A batch takes 400 ms, so every third one is told of.
		far := func(done int, after, left time.Duration) mortise.Observation {
			return mortise.Observation{Kind: kinds[i][0], Duration: after, Detail: vault.Progress{Done: done, Total: all, Left: left}}
		}
		require.Equal(t, []mortise.Observation{
			far(0, 0, 0),
			far(1500, 1200*time.Millisecond, 4*time.Second),
			far(3000, 2400*time.Millisecond, 2*time.Second),
			far(4500, 3600*time.Millisecond, 1*time.Second),
			far(6000, 4800*time.Millisecond, 0),
			{Kind: kinds[i][1], Items: all, Duration: 4800 * time.Millisecond, Detail: vault.Progress{Done: all, Total: all}},
		}, heard, kinds[i][0])
	}
}

// far is how far a step is, as the Observer hears.
func far(o mortise.Observation) vault.Progress { return o.Detail.(vault.Progress) }

// TestProgressAfterACut: a step that goes on after a cut begins with what was done before,
// does not count that as its own speed, and ends at the total.
func TestProgressAfterACut(t *testing.T) {
	const all = 6000
	r := newRig(t, vault.Options{})
	insertAll(t, r.Service, values(all/2))
	var heard []mortise.Observation
	added, one := slow(t, r, &heard, 1, 2)
	promoted, two := slow(t, r, &heard, 2, 1)
	cut, cancel := context.WithCancel(t.Context())
	for i := range 2 { // what is retired does not count any more
		heard = nil
		err := steps(cut, added, promoted)[i](func(p vault.Progress) {
			if p.Done == 2000 {
				cancel()
			}
		})
		require.ErrorIs(t, err, context.Canceled)
		last := heard[len(heard)-1]
		require.Equal(t, []int{2000, 2000, all}, []int{last.Items, far(last).Done, far(last).Total}, "what was done before the cut")
		require.ErrorIs(t, last.Err, context.Canceled)

		heard = nil
		var told vault.Progress
		require.NoError(t, steps(t.Context(), added, promoted)[i](func(p vault.Progress) { told = p; one(p, 2000); two(p, 2000) }))
		require.Equal(t, vault.Progress{Done: all, Total: all}, told)
		first, second, last := heard[0], heard[1], heard[len(heard)-1]
		require.Equal(t, 2000, far(first).Done)
		require.Zero(t, far(first).Left, "nobody knows yet")
		require.Equal(t, 3500, far(second).Done)
		require.Equal(t, 2*time.Second, far(second).Left, "1500 took 1.2 s, and 2500 are left")
		require.Equal(t, []int{4000, all, all}, []int{last.Items, far(last).Done, far(last).Total})
		cut, cancel = context.WithCancel(t.Context())
	}
	cancel()
}

// TestProgressEndsAtTheTotal: it does so too where others delete values meanwhile.
func TestProgressEndsAtTheTotal(t *testing.T) {
	r := newRig(t, vault.Options{})
	tokens := insertAll(t, r.Service, values(500))
	var told []vault.Progress
	require.NoError(t, r.with(t, 1, 2).Backfill(t.Context(), 2, func(p vault.Progress) {
		if told = append(told, p); len(told) == 1 {
			for _, token := range tokens {
				require.NoError(t, r.Delete(t.Context(), "acme", "ops", "v1", token))
			}
		}
	}))
	require.Equal(t, vault.Progress{Done: 1000, Total: 1000}, told[len(told)-1])
}
