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

// bareFile is a file with our tables as a Go service would use it by hand: prepared
// statements over database/sql, one connection that writes and some that read, no rules, no
// interfaces.
type bareFile struct {
	b             *testing.B
	conn          *sql.Conn
	read          *sql.DB
	begin, commit *sql.Stmt

	ops   chan *bareOp // of the group commit
	alone sync.Mutex   // without one: held while a call has a transaction of its own
}

// bareOp is what waits for a transaction.
type bareOp struct {
	do   func() error
	done chan error
}

const bareSettings = "?_busy_timeout=10000&_journal=WAL&_sync=FULL&_fk=1&_txlock=immediate"

// newBareFile opens a file. If it is grouped, all writes that wait share a transaction, and
// so do those that come while it goes on, as with ours. Else each has its own.
func newBareFile(b *testing.B, path string, grouped bool) *bareFile {
	name := "file:" + path + bareSettings
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
	f := &bareFile{b: b, conn: conn, read: read}
	f.begin, f.commit = f.writing("BEGIN IMMEDIATE"), f.writing("COMMIT")
	if grouped {
		f.ops = make(chan *bareOp, 256)
		var committer sync.WaitGroup
		committer.Go(f.commitGroups)
		b.Cleanup(func() {
			close(f.ops)
			committer.Wait()
		})
	}
	return f
}

// writing prepares a statement of the connection that writes.
func (f *bareFile) writing(text string) *sql.Stmt {
	stmt, err := f.conn.PrepareContext(f.b.Context(), text)
	require.NoError(f.b, err)
	return stmt
}

// reading prepares a statement of the connections that read.
func (f *bareFile) reading(text string) *sql.Stmt {
	stmt, err := f.read.PrepareContext(f.b.Context(), text)
	require.NoError(f.b, err)
	return stmt
}

// write returns when what do does is on the disk.
func (f *bareFile) write(do func() error) error {
	if f.ops == nil {
		f.alone.Lock()
		defer f.alone.Unlock()
		return f.transact(do)
	}
	o := &bareOp{do, make(chan error, 1)}
	f.ops <- o
	return <-o.done
}

func (f *bareFile) transact(do func() error) error {
	_, beginErr := f.begin.ExecContext(context.Background())
	doErr := do()
	_, commitErr := f.commit.ExecContext(context.Background())
	return errors.Join(beginErr, doErr, commitErr)
}

// commitGroups makes one transaction of all operations that wait.
func (f *bareFile) commitGroups() {
	var group []*bareOp
	take := func() bool {
		select {
		case o, open := <-f.ops:
			if open {
				group = append(group, o)
			}
			return open
		default:
			return false
		}
	}
	for first := range f.ops {
		group = append(group[:0], first)
		err := f.transact(func() (err error) {
			for i := 0; i < len(group); i++ {
				err = errors.Join(err, group[i].do())
				if i+1 == len(group) && len(group) < 256 && !take() {
					runtime.Gosched() // as ours does
					take()
				}
			}
			return err
		})
		for _, o := range group {
			o.done <- err
		}
	}
}

// bareSubmissions writes events.
type bareSubmissions struct {
	*bareFile
	event, job, organization *sql.Stmt
}

func newBareSubmissions(f *bareFile) *bareSubmissions {
	return &bareSubmissions{
		bareFile: f,
		organization: f.reading("SELECT o.setup_complete, c.id, c.ready FROM trigger_organizations o" +
			" LEFT JOIN trigger_collections c ON c.organization = o.id WHERE o.id = ? ORDER BY c.id"),
		event: f.writing("INSERT INTO trigger_events (id, organization, submitted_at, source, instructions, context, collection, idempotency_key, body_digest, trace," +
			" status, started_at, finished_at, attempts, last_error, outcome_summary, outcome_data, generation, submitted_by, due_at)" +
			" VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
		job: f.writing("INSERT INTO mortise_jobs (id, kind, organization, claimable_at, ready, deliveries, dead) VALUES (?,?,?,?,1,0,0)"),
	}
}

func (s *bareSubmissions) submit(ctx context.Context) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	at := time.Now().UnixMicro()
	return s.write(func() error {
		ctx := context.Background()
		_, err := s.event.ExecContext(ctx, id[:], "acme", at, "api", benchInstructions, benchContext, nil, nil, nil, nil,
			0, nil, nil, 0, "", nil, nil, 0, "", at)
		if err != nil {
			return err
		}
		_, err = s.job.ExecContext(ctx, id.String()+"-0", "trigger", "acme", at)
		return err
	})
}

// ready reads the organization.
func (s *bareSubmissions) ready(ctx context.Context) error {
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
