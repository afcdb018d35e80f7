//go:build linux || darwin

package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// game are the servers and the clients.
type game struct {
	address string
	servers []*server
	acts    chan act // of the buttons
	byClock bool
	enough  context.CancelFunc
	said    atomic.Pointer[string] // the line at the end

	acknowledged, finished atomic.Int64
	done                   [none]atomic.Int64 // by act
	ids                    sync.Map           // the events that have finished
}

// server is this program once more, as a process of its own.
type server struct {
	url atomic.Pointer[string] // of the process that runs
	cmd *exec.Cmd
}

// start starts a process, once more if the database is away.
func (s *server) start(address string) (err error) {
	for range 30 {
		if err = s.try(address); err == nil {
			return nil
		}
		time.Sleep(500 * time.Millisecond)
	}
	return err
}

// try starts a process, and waits until it listens.
func (s *server) try(address string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.cmd = exec.Command(self, "serve", address)
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // ^C ends this process alone
	stdout, err := s.cmd.StdoutPipe()
	_, stdinErr := s.cmd.StdinPipe() // which ends with this process
	if err := errors.Join(err, stdinErr, s.cmd.Start()); err != nil {
		return err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return errors.Join(errors.New("a server did not start"), s.cmd.Wait())
	}
	url := strings.TrimSpace(line)
	s.url.Store(&url)
	return nil
}

// do does something to a server.
func (g *game) do(a act) error {
	s := g.servers[rand.IntN(len(g.servers))]
	switch a {
	case kill:
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		g.done[a].Add(1)
		return s.start(g.address)
	case pause:
		return g.between(s, a, syscall.SIGSTOP, syscall.SIGCONT, lease+time.Second)
	case full:
		return g.between(s, a, syscall.SIGUSR1, syscall.SIGUSR2, time.Second)
	}
	return nil
}

func (g *game) between(s *server, a act, begin, end syscall.Signal, wait time.Duration) error {
	err := s.cmd.Process.Signal(begin)
	time.Sleep(wait)
	g.done[a].Add(1)
	return errors.Join(err, s.cmd.Process.Signal(end))
}

// end kills all servers.
func (g *game) end() {
	for _, s := range g.servers {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// load starts the clients. finish has each one see its last event end.
func (g *game) load() (finish func() error) {
	const clients = 16
	var running sync.WaitGroup
	var stopping atomic.Bool
	ending, cancel := context.WithCancel(context.Background())
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: clients}}
	for range clients {
		running.Go(func() {
			for !stopping.Load() && ending.Err() == nil {
				g.event(ending, client)
			}
		})
	}
	return func() error {
		defer cancel()
		stopping.Store(true)
		late := time.AfterFunc(time.Minute, cancel)
		running.Wait()
		if !late.Stop() {
			return errors.New("a minute after the last kill some events have not ended")
		}
		return nil
	}
}

// event submits an event until a server acknowledges it, and waits for its end.
func (g *game) event(ctx context.Context, client *http.Client) {
	var event struct {
		ID     uuid.UUID `json:"trigger_event_id"`
		Status string    `json:"status"`
	}
	key := uuid.NewString()
	ask := func(method, path, body string) bool {
		s := g.servers[rand.IntN(len(g.servers))]
		r, err := http.NewRequestWithContext(ctx, method, *s.url.Load()+path, strings.NewReader(body))
		if err != nil {
			return false
		}
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", key)
		}
		answer, err := client.Do(r)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return err == nil && answer.StatusCode/100 == 2 && json.Unmarshal(text, &event) == nil
	}
	until := func(done func() bool) {
		for wait := time.Millisecond; !done() && ctx.Err() == nil; wait = min(2*wait, 50*time.Millisecond) {
			time.Sleep(wait)
		}
	}
	until(func() bool { return ask(http.MethodPost, "/triggers", `{"instructions":"Insert a row."}`) })
	g.acknowledged.Add(1)
	until(func() bool {
		return ask(http.MethodGet, "/triggers/"+event.ID.String(), "") && event.Status == "completed"
	})
	g.ids.Store(event.ID, true)
	g.finished.Add(1)
}

// rows are what is found in the host's table. Each event that has finished must have one.
type rows struct{ Rows, Lost, Twice, Unknown int }

// count compares the events that have finished with the host's table.
func (g *game) count() (n rows, err error) {
	n.Lost = int(g.finished.Load())
	driver, table := "sqlite", "killme"
	if isPostgres(g.address) {
		driver, table = "pgx", "killme.killme"
	}
	host, err := sql.Open(driver, g.address)
	if err != nil {
		return n, err
	}
	defer host.Close()
	found, err := host.Query("SELECT event, count(*) FROM " + table + " GROUP BY event")
	if err != nil {
		return n, err
	}
	defer found.Close()
	for found.Next() {
		var event uuid.UUID
		var times int
		if err := found.Scan(&event, &times); err != nil {
			return n, err
		}
		n.Rows, n.Twice = n.Rows+times, n.Twice+times-1
		if _, finished := g.ids.Load(event); finished {
			n.Lost--
		} else {
			n.Unknown++
		}
	}
	n.Lost = max(n.Lost, 0) // some have finished meanwhile
	return n, found.Err()
}

func isPostgres(address string) bool { return strings.Contains(address, "://") }

// prepare makes the tables. A schema that is there is refused.
func prepare(ctx context.Context, url, path string) (address string, remove func() error, err error) {
	const table = "(event TEXT NOT NULL)" // without a constraint, which would hide what comes twice
	if url == "" {
		db, err := sqlite.Open(ctx, path, nil)
		if err != nil {
			return "", nil, err
		}
		return path, func() error { return nil }, errors.Join(db.InTx(ctx, func(ctx context.Context, tx *sqlite.Tx) error {
			_, err := tx.ExecContext(ctx, "CREATE TABLE killme "+table)
			return err
		}), db.Close())
	}
	on := func(ctx context.Context, do func(*pgx.Conn) error) error {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		return errors.Join(do(conn), conn.Close(ctx))
	}
	exec := func(ctx context.Context, statement string) error {
		return on(ctx, func(c *pgx.Conn) error { _, err := c.Exec(ctx, statement); return err })
	}
	if err := exec(ctx, "CREATE SCHEMA killme CREATE TABLE killme "+table); err != nil {
		return "", nil, err
	}
	remove = func() error { return exec(context.Background(), "DROP SCHEMA killme CASCADE") }
	err = on(ctx, func(c *pgx.Conn) error {
		return postgres.Migrate(ctx, c, &postgres.Options{Schema: "killme", Logger: quiet})
	})
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return url, remove, nil
}
