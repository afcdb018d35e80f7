package engine

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// Hear calls got for each notice of a channel, until ctx ends, and tried whenever it has begun
// to listen, or could not. A notice that comes while there is no connection is lost.
func (db *DB) Hear(ctx context.Context, channel string, tried func(listens bool), got func(payload string)) {
	for pause := 10 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
		began := time.Now()
		_ = db.hearOnce(ctx, channel, tried, got)
		if time.Since(began) > time.Minute {
			pause = 10 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// listenConfig returns Options.Listen, or how the pool connects: with the password that its
// BeforeConnect gets, where that changes.
func (db *DB) listenConfig(ctx context.Context) (*pgx.ConnConfig, error) {
	if config := db.listenBy; config != nil {
		return config.Copy(), nil
	}
	pool := db.pool.Config()
	if pool.BeforeConnect == nil {
		return pool.ConnConfig, nil
	}
	return pool.ConnConfig, pool.BeforeConnect(ctx, pool.ConnConfig)
}

func (db *DB) hearOnce(ctx context.Context, channel string, tried func(listens bool), got func(payload string)) error {
	listens := false
	defer func() {
		if !listens {
			tried(false)
		}
	}()
	connecting, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	config, err := db.listenConfig(connecting)
	if err != nil {
		return err
	}
	// Nothing runs on the server that could be cancelled: a host's handler may wait for that
	// before it gives up.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
	}
	conn, err := pgx.ConnectConfig(connecting, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(connecting, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	listens = true
	tried(true)
	for {
		// A connection that is cut without a word is found out by asking.
		waiting, cancel := context.WithTimeout(ctx, time.Minute)
		notice, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			got(notice.Payload)
		case ctx.Err() != nil:
			return ctx.Err()
		case waiting.Err() != nil && !conn.IsClosed():
			asking, cancel := context.WithTimeout(ctx, db.timeout)
			err := conn.Ping(asking)
			cancel()
			if err != nil {
				return err
			}
		default:
			return err
		}
	}
}
