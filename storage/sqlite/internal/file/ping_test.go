package file

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPingAsksSeldom: what is known is answered at once, and one write serves all who ask
// meanwhile.
func TestPingAsksSeldom(t *testing.T) {
	var h health
	now := time.Now()
	probes, release := 0, make(chan error)
	probe := func() error {
		probes++
		err := <-release
		if err == nil {
			h.note(now, nil) // as the writer does
		}
		return err
	}
	ask := func() (*probing, error) { return h.ask(now, probe) }

	first, err := ask() // nothing is known
	require.NoError(t, err)
	require.NotNil(t, first)
	second, err := ask()
	require.NoError(t, err)
	require.Same(t, first, second)
	release <- nil
	<-first.done
	require.NoError(t, first.err)
	require.Equal(t, 1, probes)

	now = now.Add(goodFor - 1)
	p, err := ask()
	require.NoError(t, err)
	require.Nil(t, p, "a write has gone well a moment ago")
	h.note(now, nil) // somebody's
	now = now.Add(goodFor - 1)
	p, err = ask()
	require.NoError(t, err)
	require.Nil(t, p)

	full := errors.New("disk full")
	h.note(now, full)
	p, err = ask()
	require.ErrorIs(t, err, full)
	require.Nil(t, p)
	now = now.Add(badFor)
	for _, outcome := range []error{full, nil} {
		p, err = ask()
		require.NoError(t, err)
		require.NotNil(t, p)
		release <- outcome
		<-p.done
		require.ErrorIs(t, p.err, outcome)
		now = time.Now().Add(badFor) // a probe that fails is noted by the clock
	}
	require.Equal(t, 3, probes)
	p, err = ask()
	require.NoError(t, err)
	require.Nil(t, p)
}

// TestPing: the file stays as large as it was, Ping ends with ctx, and it fails when the
// file is closed.
func TestPing(t *testing.T) {
	db, err := Open(t.Context(), EmptyFile(t), defaults)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	pages := func() (n int) {
		require.NoError(t, db.Find(t.Context(), "", "PRAGMA page_count", nil, func(r *Row) error { n = r.Number(0); return nil }))
		return n
	}
	before := pages()
	for range 100 {
		require.NoError(t, db.Ping(t.Context()))
		require.NoError(t, db.probe())
	}
	require.Equal(t, before, pages())

	// A statement that the database refuses is no fault of the disk.
	require.Error(t, db.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO mortise_scripts (domain) VALUES (NULL)")
		return err
	}))
	require.NoError(t, db.Ping(t.Context()))

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, db.Ping(ended), context.Canceled)

	// A writer that hangs.
	hanging, release := make(chan struct{}), make(chan struct{})
	go func() {
		_ = db.Write(context.Background(), func(*Tx) error {
			close(hanging)
			<-release
			return nil
		})
	}()
	<-hanging
	db.writer.health.note(time.Now().Add(-goodFor), nil)
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, db.Ping(short), context.DeadlineExceeded)
	close(release)
	require.NoError(t, db.Ping(t.Context()))

	require.NoError(t, db.Close())
	db.writer.health.note(time.Now().Add(-goodFor), nil)
	require.ErrorIs(t, db.Ping(t.Context()), ErrClosed)
}
