package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// benchClients is how many clients the calls are spread over.
const benchClients = 64

// benchRoles are a client's in the benchmarks.
func benchRoles() []access.Role {
	return []access.Role{{ID: "viewer", Resource: "dataset", ResourceInstance: "d1"}}
}

// BenchmarkAuthMgmtUpdateClient compares Service.UpdateClient, which asks the directory
// whether the organization may have roles, with a bare group commit of the same rows,
// which reads nothing and takes the audit event as it is given; and with one that reads
// what it changes and writes that into the event, as the audit trail asks for.
func BenchmarkAuthMgmtUpdateClient(b *testing.B) {
	for _, callers := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			ours, _ := benchUpdates(b, "ours.db")
			_, path := benchUpdates(b, "bare.db")
			group := newBareUpdates(b, path, false)
			_, path = benchUpdates(b, "reading.db")
			reading := newBareUpdates(b, path, true)
			var oursTime, groupTime, readingTime time.Duration
			for b.Loop() {
				oursTime += turn(b, callers, 20*callers, ours)
				groupTime += turn(b, callers, 20*callers, group)
				readingTime += turn(b, callers, 20*callers, reading)
			}
			rate := func(d time.Duration) float64 { return float64(b.N*20*callers) / d.Seconds() }
			b.ReportMetric(rate(oursTime), "updates/s")
			b.ReportMetric(rate(groupTime), "bare-group/s")
			b.ReportMetric(rate(readingTime), "bare-reading/s")
			b.ReportMetric(rate(oursTime)/rate(groupTime), "of-group")
			b.ReportMetric(rate(oursTime)/rate(readingTime), "of-reading")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// benchUpdates opens a database with clients that updates are made of.
func benchUpdates(b *testing.B, name string) (update submitter, path string) {
	path = filepath.Join(b.TempDir(), name)
	tables := openAt(b, path, nil).AuthMgmt().Store.(*sqlite.AuthMgmt)
	service, err := authmgmt.New(authmgmt.Backend{Store: tables, Directory: tables}, nil)
	require.NoError(b, err)
	require.NoError(b, service.SetRBAC(b.Context(), "acme", root, true))
	for i := range benchClients {
		_, _, err := service.CreateClient(b.Context(), "acme", root, authmgmt.NewClient{ID: fmt.Sprint("robot", i), Name: "Robot", Roles: benchRoles()})
		require.NoError(b, err)
	}
	var calls atomic.Int64
	return func(ctx context.Context) error {
		n := calls.Add(1)
		name, roles := fmt.Sprint("Robot ", n), benchRoles()
		_, err := service.UpdateClient(ctx, "acme", root, fmt.Sprint("robot", n%benchClients), authmgmt.ClientUpdate{Name: &name, Roles: &roles})
		return err
	}, path
}

// newBareUpdates makes one transaction of all updates that wait.
func newBareUpdates(b *testing.B, path string, reads bool) submitter {
	db, err := sql.Open("sqlite", "file:"+path+bareSettings)
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(b.Context())
	require.NoError(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	prepare := func(text string) *sql.Stmt {
		stmt, err := conn.PrepareContext(b.Context(), text)
		require.NoError(b, err)
		return stmt
	}
	begin, commit := prepare("BEGIN IMMEDIATE"), prepare("COMMIT")
	update := prepare("UPDATE authmgmt_clients SET name = ?, roles = ?, updated_at = ? WHERE organization = ? AND id = ?")
	audit := prepare("INSERT INTO authmgmt_audit (id, organization, at, kind, actor, target, before, after) VALUES (?,?,?,?,?,?,?,?)")
	read := prepare("SELECT c.name, c.roles, s.id FROM authmgmt_clients c" +
		" LEFT JOIN authmgmt_secrets s ON s.organization = c.organization AND s.client = c.id WHERE c.organization = ? AND c.id = ?")
	snapshot := func(name string, secret uuid.UUID) (string, error) {
		text, err := json.Marshal(authmgmt.Snapshot{
			Name: name, Roles: benchRoles(), Secrets: []uuid.UUID{secret},
		})
		return string(text), err
	}
	given, err := snapshot("Robot 1", uuid.Nil)
	require.NoError(b, err)

	type call struct {
		n    int64
		id   uuid.UUID
		at   int64
		done chan error
	}
	change := func(c call) error {
		ctx, client, name := context.Background(), fmt.Sprint("robot", c.n%benchClients), fmt.Sprint("Robot ", c.n)
		before, after := given, given
		if reads {
			var old, roles string
			var secret uuid.UUID
			err := read.QueryRowContext(ctx, "acme", client).Scan(&old, &roles, &secret)
			if err == nil {
				before, err = snapshot(old, secret)
			}
			if err == nil {
				after, err = snapshot(name, secret)
			}
			if err != nil {
				return err
			}
		}
		if _, err := update.ExecContext(ctx, name, "viewer/dataset/d1", c.at, "acme", client); err != nil {
			return err
		}
		_, err := audit.ExecContext(ctx, c.id[:], "acme", c.at, "client_updated", "root", client, before, after)
		return err
	}
	waiting := make(chan call, 256)
	var committer sync.WaitGroup
	committer.Go(func() {
		var group []call
		for first := range waiting {
			group = append(group[:0], first)
			for more := true; more && len(group) < cap(waiting); {
				if len(waiting) == 0 {
					runtime.Gosched() // as ours does
				}
				select {
				case c := <-waiting:
					group = append(group, c)
				default:
					more = false
				}
			}
			_, err := begin.ExecContext(context.Background())
			for _, c := range group {
				err = errors.Join(err, change(c))
			}
			_, commitErr := commit.ExecContext(context.Background())
			for _, c := range group {
				c.done <- errors.Join(err, commitErr)
			}
		}
	})
	b.Cleanup(func() {
		close(waiting)
		committer.Wait()
	})
	var calls atomic.Int64
	return func(context.Context) error {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		c := call{calls.Add(1), id, time.Now().UnixMicro(), make(chan error, 1)}
		waiting <- c
		return <-c.done
	}
}
