//go:build linux || darwin

// Command killme kills its own servers while clients use them, and counts what is left.
//
// The servers accept triggers over HTTP. Their workers end each event by a
// trigger.Outcome with Apply, which inserts a row into a table of the host's in the
// transaction that ends the event. Sixteen clients submit events and wait for their ends. A
// button, or a clock, kills a server (kill -9), or stops it until its lease has ended. At
// the end each acknowledged event must have one row, and no event two.
//
//	go run ./examples/killme                       # a page with a button
//	go run ./examples/killme -kills 200            # no page; exit status 1 unless exactly once
//	go run ./examples/killme -postgres postgres://user@host/name
//
// All files are in a temporary folder, which it removes. On PostgreSQL it makes the schema
// killme, which it removes, too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

type options struct {
	postgres, listen string
	kills, servers   int
	events           int64
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		fail(serve(os.Args[2]))
	}
	var o options
	flag.StringVar(&o.postgres, "postgres", "", "the `URL` of a PostgreSQL database; without it, SQLite in a temporary folder")
	flag.IntVar(&o.kills, "kills", 0, "end after so many kills")
	flag.Int64Var(&o.events, "events", 0, "go on until so many events are acknowledged")
	flag.IntVar(&o.servers, "servers", 2, "how many servers share the database")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:8090", "the address of the page, which is there without -kills and -events")
	flag.Parse()
	if flag.NArg() > 0 || o.kills < 0 || o.events < 0 || o.postgres != "" && !isPostgres(o.postgres) || o.servers < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fail(play(ctx, &o))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "killme:", err)
		os.Exit(1)
	}
}

// play kills servers until ctx ends, or the options say that it is enough. It prints what was
// counted. An event that is lost or comes twice is an error.
func play(ctx context.Context, o *options) (err error) {
	dir, err := os.MkdirTemp("", "killme")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	address, remove, err := prepare(ctx, o.postgres, filepath.Join(dir, "killme.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	g := &game{address: address, acts: make(chan act), byClock: o.kills > 0 || o.events > 0}
	defer g.end()
	for range o.servers {
		s := new(server)
		if err := s.start(address); err != nil {
			return err
		}
		g.servers = append(g.servers, s)
	}
	ctx, g.enough = context.WithCancel(ctx)
	if !g.byClock {
		if err := g.open(o.listen); err != nil {
			return err
		}
	}
	begun := time.Now()
	finish := g.load()
	for ctx.Err() == nil && (!g.byClock || g.done[kill].Load() < int64(o.kills) || g.acknowledged.Load() < o.events) {
		if err := g.do(g.next(ctx)); err != nil {
			return err
		}
	}
	if err := finish(); err != nil {
		return err
	}
	g.end()
	n, err := g.count()
	if err != nil {
		return err
	}
	n.Twice += n.Unknown // of a request that has become two events
	line := fmt.Sprintf("%d servers, %v: %d times kill -9, %d stopped past the lease, %d without space; %d acknowledged, %d finished, %d rows in your table: %d lost, %d twice",
		o.servers, time.Since(begun).Round(time.Second), g.done[kill].Load(), g.done[pause].Load(), g.done[full].Load(), g.acknowledged.Load(), g.finished.Load(), n.Rows, n.Lost, n.Twice)
	fmt.Println(line)
	g.tell(line)
	if n.Lost+n.Twice > 0 || int64(n.Rows) != g.acknowledged.Load() {
		return errors.New("not exactly once")
	}
	return nil
}

// act is something that is done to a server.
type act int

const (
	kill  act = iota // kill -9
	pause            // stopped until its lease has ended
	full             // its files may not grow
	none
)

// next waits for a button, or for the clock, most of whose acts are kills.
func (g *game) next(ctx context.Context) act {
	var clock <-chan time.Time
	if g.byClock {
		clock = time.After(rand.N(time.Second))
	}
	select {
	case <-ctx.Done():
		return none
	case a := <-g.acts:
		return a
	case <-clock:
		switch n := rand.IntN(27); {
		case n < 20:
			return kill
		case n < 25 || isPostgres(g.address):
			return pause
		}
		return full
	}
}
