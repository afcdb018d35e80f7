package river_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/river"
)

var errAnswer = errors.New("the answer")

// slowTx is a transaction of which statements take their time, and then fail.
type slowTx struct {
	pgx.Tx
	before time.Duration // for which it waits for others
	takes  time.Duration
	ready  func()
}

func (t *slowTx) Conn() *pgx.Conn { return nil }

func (t *slowTx) Query(context.Context, string, ...any) (pgx.Rows, error) {
	time.Sleep(t.before)
	if t.ready != nil {
		t.ready()
	}
	time.Sleep(t.takes)
	return pgx.FailedBatchResults(new(pgx.Batch), errAnswer).Query()
}

// lateTx is one that says when the time of the queue's statement begins.
type lateTx struct{ *slowTx }

func (t lateTx) WhenReady(f func()) { t.ready = f }

// TestTimeoutBegins: Timeout bounds what is asked of River, and not what an event waits for
// before that.
func TestTimeoutBegins(t *testing.T) {
	t.Parallel()
	const timeout = time.Minute
	q := newDatabase(t).queue(t, &river.Options{Timeout: timeout})
	require.NoError(t, q.Enqueue(t.Context(), job("order"))) // River asks once which PostgreSQL it is
	for name, c := range map[string]struct {
		tx   pgx.Tx
		late bool
	}{
		"in time":               {&slowTx{takes: timeout - 1}, false},
		"too late":              {&slowTx{takes: timeout + 1}, true},
		"in time behind others": {lateTx{&slowTx{before: 9 * timeout, takes: timeout - 1}}, false},
		"too late likewise":     {lateTx{&slowTx{before: 9 * timeout, takes: timeout + 1}}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			err := q.EnqueueManyTx(t.Context(), c.tx, []mortise.Job{job("order")})
			require.ErrorIs(t, err, errAnswer, name)
			require.Equal(t, c.late, errors.Is(err, context.DeadlineExceeded), "%s: %v", name, err)
		})
	}
}
