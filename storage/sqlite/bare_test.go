package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// bare is what a Go service would write by hand: prepared statements over database/sql,
// no rules, no interfaces.
type bare struct {
	conn                      *sql.Conn
	begin, commit, event, job *sql.Stmt
	organization              *sql.Stmt
}

const bareSettings = "?_busy_timeout=10000&_journal=WAL&_sync=FULL&_fk=1&_txlock=immediate"

func newBare(b *testing.B) *bare {
	name := "file:" + emptySchema(b) + bareSettings
	write, err := sql.Open("sqlite", name)
	require.NoError(b, err)
	b.Cleanup(func() { _ = write.Close() })
	read, err := sql.Open("sqlite", name)
	require.NoError(b, err)
	b.Cleanup(func() { _ = read.Close() })
	read.SetMaxOpenConns(4)
	read.SetMaxIdleConns(4)
	conn, err := write.Conn(b.Context())
	require.NoError(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	prepare := func(text string) *sql.Stmt {
		stmt, err := conn.PrepareContext(b.Context(), text)
		require.NoError(b, err)
		return stmt
	}
	organization, err := read.PrepareContext(b.Context(), "SELECT o.setup_complete, c.id, c.ready FROM trigger_organizations o"+
		" LEFT JOIN trigger_collections c ON c.organization = o.id WHERE o.id = ? ORDER BY c.id")
	require.NoError(b, err)
	return &bare{
		conn: conn, begin: prepare("BEGIN IMMEDIATE"), commit: prepare("COMMIT"), organization: organization,
		event: prepare("INSERT INTO trigger_events (id, organization, submitted_at, source, instructions, context, collection, idempotency_key, body_digest, trace," +
			" status, started_at, finished_at, attempts, last_error, outcome_summary, outcome_data, generation, unqueued_since, due_at)" +
			" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
		job: prepare("INSERT INTO mortise_jobs (id, kind, organization, claimable_at, ready, deliveries, dead) VALUES (?,?,?,?,1,0,0)"),
	}
}

// ready reads the organization.
func (s *bare) ready(ctx context.Context) error {
	rows, err := s.organization.QueryContext(ctx, "acme")
	if err != nil {
		return err
	}
	defer rows.Close()
	any := false
	for rows.Next() {
		var setup, ready bool
		var id []byte
		if err := rows.Scan(&setup, &id, &ready); err != nil {
			return err
		}
		any = any || setup && ready
	}
	if !any {
		return errors.New("not ready")
	}
	return rows.Err()
}

// insert stores an event and its job in the transaction that is open.
func (s *bare) insert(id uuid.UUID, at int64) error {
	ctx := context.Background()
	_, err := s.event.ExecContext(ctx, id[:], "acme", at, "api", benchInstructions, benchContext, nil, nil, nil, nil,
		0, nil, nil, 0, "", nil, nil, 0, nil, at)
	if err != nil {
		return err
	}
	_, err = s.job.ExecContext(ctx, id.String()+"-0", "trigger", "acme", at)
	return err
}

// newBareSingle makes a transaction for each call.
func newBareSingle(b *testing.B) submitter {
	s := newBare(b)
	var mu sync.Mutex
	return func(ctx context.Context) error {
		if err := s.ready(ctx); err != nil {
			return err
		}
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		_, beginErr := s.begin.ExecContext(context.Background())
		insertErr := s.insert(id, time.Now().UnixMicro())
		_, commitErr := s.commit.ExecContext(context.Background())
		return errors.Join(beginErr, insertErr, commitErr)
	}
}

// newBareGroup makes one transaction of all calls that wait.
func newBareGroup(b *testing.B) submitter {
	s := newBare(b)
	type call struct {
		id   uuid.UUID
		at   int64
		done chan error
	}
	calls := make(chan call, 256)
	var committer sync.WaitGroup
	committer.Go(func() {
		var group []call
		for first := range calls {
			group = append(group[:0], first)
		more:
			for len(group) < 256 {
				select {
				case c := <-calls:
					group = append(group, c)
				default:
					runtime.Gosched() // as ours does
					select {
					case c := <-calls:
						group = append(group, c)
					default:
						break more
					}
				}
			}
			_, err := s.begin.ExecContext(context.Background())
			for _, c := range group {
				err = errors.Join(err, s.insert(c.id, c.at))
			}
			_, commitErr := s.commit.ExecContext(context.Background())
			for _, c := range group {
				c.done <- errors.Join(err, commitErr)
			}
		}
	})
	b.Cleanup(func() {
		close(calls)
		committer.Wait()
	})
	return func(ctx context.Context) error {
		if err := s.ready(ctx); err != nil {
			return err
		}
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		c := call{id, time.Now().UnixMicro(), make(chan error, 1)}
		calls <- c
		return <-c.done
	}
}
