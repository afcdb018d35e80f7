// Package fromsqlite copies what a program keeps in a file of storage/sqlite into the tables
// of storage/postgres, for whoever has grown from one file to many machines. Whatever was
// given out stays what it is: tokens, links of invitations, API keys, IDs.
//
// The program that uses the file is stopped, or the file is a backup of its own. storage/sqlite
// can open it in the version of this package, and [postgres.Migrate] has made the tables of the
// database, which are empty. The keys of the program stay the same: what is kept is sealed,
// digested and signed by them. Look whether you have the right ones before you copy, by
// authmgmt.Service.CheckKey and vault.Service.CheckKeys over the file.
//
//	file, err := sql.Open("sqlite", "file:mortise.db?mode=rw") // the driver of storage/sqlite
//	...
//	open := func(ctx context.Context) (audiosearch.Store, func() error, error) {
//		db, err := sqlite.Open(ctx, "mortise.db", nil)
//		if err != nil {
//			return nil, nil, err
//		}
//		return db.AudioSearch().Store, db.Close, nil
//	}
//	err = fromsqlite.Copy(ctx, fromsqlite.Source{DB: file, AudioSearch: open}, pool, nil)
//
// Tables of the host's own in the file (sqlite.Options.Adopt) are not copied: they are the
// host's to copy.
//
// It reads and writes the tables of both themselves: an interface of the domains would give
// new IDs, times and digests. All rows are read twice. The first time they are counted and
// digested, and that is noted in a table of the database's, copy_from; then each table is
// copied in a transaction of its own, which notes that, too. So a copy that was cut off goes
// on with the table where it was, from the same rows. At last the tables of PostgreSQL are
// read and compared with what was noted, and the note goes. While it is there, no program may
// use the database: see [Unfinished].
//
// Jobs go into the table of storage/postgres. A program that is going to have its queue
// elsewhere does those first, or leaves them to the sweepers of its workers.
package fromsqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

var (
	// ErrSource is of a file that cannot be copied as it is, ErrTarget of such a database.
	// Trying again is of no use.
	ErrSource = errors.New("the SQLite database")
	ErrTarget = errors.New("the PostgreSQL database")
)

// Source is a file that is copied.
type Source struct {
	// DB is the file, by a driver of your choice for database/sql, opened for this alone: Copy
	// keeps everybody else out of the file, other connections of the DB included, and closes
	// it.
	DB *sql.DB

	// AudioSearch opens the file by storage/sqlite, when Copy has let go of it, and returns
	// the store of its AudioSearch and what closes it again. The tables of the audio search
	// are too different to be copied, so this goes from store to store. It is needed
	// always, and not called if the file has no tables of package audiosearch.
	AudioSearch func(ctx context.Context) (store audiosearch.Store, closeIt func() error, err error)
}

// Options are the settings of Copy. The zero value means the defaults.
type Options struct {
	Schema  string       // as in [postgres.Options]
	Domains []string     // likewise; of these, the domains that the file has are copied
	Logger  *slog.Logger // likewise
	Out     io.Writer    // gets a line on each table, with its rows and their digest; nil: no lines
}

// storeTimeout bounds a call of the audio search's store: scores of hours of sound are one.
const storeTimeout = 10 * time.Minute

func (o *Options) withDefaults() (s Options, of *postgres.Options) {
	if o != nil {
		s = *o
	}
	if s.Schema == "" {
		s.Schema = "mortise"
	}
	if s.Out == nil {
		s.Out = io.Discard
	}
	return s, &postgres.Options{Schema: s.Schema, Domains: s.Domains, Logger: s.Logger, Timeout: storeTimeout}
}

// Copy copies a file into the database of a pool, whose connections have no time limits of
// their own; one of them is not given back. A call that was cut off is made again, from the
// same file, and goes on. Parts of a scoring that has not ended are left out: they are scored
// again.
func Copy(ctx context.Context, source Source, pool *pgxpool.Pool, opts *Options) (err error) {
	o, storeOptions := opts.withDefaults()
	if source.DB == nil || source.AudioSearch == nil {
		return errors.New("fromsqlite: Copy needs both fields of Source")
	}
	from, err := openSource(ctx, source.DB)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.close()) }()
	stores, err := postgres.New(ctx, pool, storeOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	pooled, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	to := &target{conn: pooled.Hijack(), schema: o.Schema} // its lock ends with it
	defer func() { _ = to.conn.Close(context.WithoutCancel(ctx)) }()
	if err := copyTables(ctx, from, to, &o); err != nil {
		return err
	}
	if !from.hasDomain("audiosearch") {
		return to.end(ctx)
	}
	audio, err := from.audio(ctx)
	if err != nil {
		return err
	}
	if err := from.close(); err != nil {
		return err
	}
	if err := copyAudio(ctx, source, stores.AudioSearch().Store, audio, &o); err != nil {
		return fmt.Errorf("copy the audio search: %w", err)
	}
	return to.end(ctx)
}

// copyTables copies all but the audio search, and compares it.
func copyTables(ctx context.Context, from *source, to *target, o *Options) error {
	if err := to.lock(ctx); err != nil {
		return err
	}
	if err := to.look(ctx); err != nil {
		return err
	}
	if err := o.check(from); err != nil {
		return err
	}
	if err := check(from, to.columns, to.counters); err != nil {
		return err
	}
	plan, err := from.plan(ctx, to.columns)
	if err != nil {
		return err
	}
	begun, done, err := to.begun(ctx)
	switch {
	case err != nil:
		return err
	case begun == nil:
		err = to.begin(ctx, plan)
	case !maps.Equal(begun, plan):
		err = fmt.Errorf("%w: it has a part of a copy of another database, or of this one before it was changed. "+
			"Drop its schema %s and copy again", ErrTarget, to.schema)
	}
	if err != nil {
		return err
	}
	for i := range tables {
		t := &tables[i]
		if !from.has(t) {
			continue
		}
		if done[t.name] {
			fmt.Fprintf(o.Out, "%s: copied before\n", t.name)
			continue
		}
		if err := to.copy(ctx, from, t); err != nil {
			return fmt.Errorf("copy %s: %w", t.name, err)
		}
	}
	for i := range tables {
		name := tables[i].name
		if !from.has(&tables[i]) {
			continue
		}
		found, err := to.sum(ctx, &tables[i])
		if err != nil {
			return fmt.Errorf("compare %s: %w", name, err)
		}
		if want := plan[name]; found != want {
			return fmt.Errorf("%w: of %s it has %d rows with digest %s, and the SQLite database %d with %s: "+
				"something else wrote to it. Drop its schema %s and copy again",
				ErrTarget, name, found.rows, found.hex(), want.rows, want.hex(), to.schema)
		}
		fmt.Fprintf(o.Out, "%s: rows %d, digest %s, the same in both\n", name, found.rows, found.hex())
	}
	return nil
}

// plan reads all that is to be copied.
func (s *source) plan(ctx context.Context, to map[string][]column) (map[string]sum, error) {
	plan := make(map[string]sum)
	for i := range tables {
		if !s.has(&tables[i]) {
			continue
		}
		found, err := s.sum(ctx, &tables[i], to[tables[i].name])
		if err != nil {
			return nil, err
		}
		plan[tables[i].name] = found
	}
	return plan, nil
}

func (s *source) sum(ctx context.Context, t *table, to []column) (found sum, err error) {
	rows, err := s.rows(ctx, t, to)
	if err != nil {
		return found, err
	}
	defer rows.close()
	for {
		row, err := rows.next()
		if err != nil || row == nil {
			return found, err
		}
		found.add(row)
	}
}

// check refuses a file with a domain that the database is opened without.
func (o *Options) check(from *source) error {
	for name := range from.columns {
		domain, _, _ := strings.Cut(name, "_")
		if isOurs(name) && domain != "mortise" && len(o.Domains) > 0 && !slices.Contains(o.Domains, domain) {
			return fmt.Errorf("%w: it is opened without %s, which the file has: name that in Options.Domains, too", ErrTarget, domain)
		}
	}
	return nil
}

// Unfinished reports whether the database has a part of a copy, which a program looks for
// before it begins to work there. Of the options it reads the schema.
func Unfinished(ctx context.Context, pool *pgxpool.Pool, opts *Options) (unfinished bool, err error) {
	o, _ := opts.withDefaults()
	there := "SELECT to_regclass($1) IS NOT NULL"
	err = pool.QueryRow(ctx, there, pgx.Identifier{o.Schema, progress}.Sanitize()).Scan(&unfinished)
	return unfinished, err
}
