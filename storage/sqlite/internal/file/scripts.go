package file

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // of the scripts
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	modernc "modernc.org/sqlite"

	"github.com/seed-6363c74e/mortise/internal/tables"
)

var (
	//go:embed migrations/trigger.sql
	triggerScript string
	//go:embed migrations/vault.sql
	vaultScript string
	//go:embed migrations/authmgmt.sql
	authmgmtScript string
	//go:embed migrations/audiosearch.sql
	audiosearchScript string
	//go:embed migrations/jobs.sql
	jobsScript string
)

// ours are the tables of this package.
var ours = newBlueprint(scriptOf("trigger", triggerScript), scriptOf("vault", vaultScript), scriptOf("authmgmt", authmgmtScript),
	scriptOf("audiosearch", audiosearchScript), scriptOf("jobs", jobsScript))

// script makes the tables of a domain, or of the queue. Until the first release scripts are
// edited in place: a file is opened only by a program with the scripts that made it.
type script struct{ domain, text string }

// scriptOf adds the views of a domain to the script of its tables.
func scriptOf(domain, text string) script { return script{domain, text + tables.Of(domain, &dialect)} }

// digest is SHA-256 of the text, in hex.
func (s script) digest() string {
	sum := sha256.Sum256([]byte(s.text))
	return hex.EncodeToString(sum[:])
}

// scriptsTable says which scripts made the tables of a file, and which program ran them and
// when: RFC 3339, UTC. versionsTable is its predecessor.
const (
	scriptsTable     = "mortise_scripts"
	makeScriptsTable = "CREATE TABLE " + scriptsTable +
		" (domain TEXT NOT NULL PRIMARY KEY, digest TEXT NOT NULL, program TEXT NOT NULL, made_at TEXT NOT NULL) WITHOUT ROWID"
	versionsTable = "mortise_versions"

	noteScript   = "INSERT INTO " + scriptsTable + " (domain, digest, program, made_at) VALUES (?,?,?,?)"
	notedScripts = "SELECT domain, digest, program, made_at FROM " + scriptsTable + " ORDER BY domain"
)

// program is the path and version of the main module, as its build information has them:
// the host's, which says what to open the file with. A tree without a version is "(devel)".
func program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "an unknown version"
	}
	return cmp.Or(info.Main.Path, info.Path) + " " + cmp.Or(info.Main.Version, "(devel)")
}

// of returns the blueprint of domains and of the queue. No domains are all.
func of(domains []string) *blueprint {
	if len(domains) == 0 || len(domains) >= len(tables.Domains()) {
		return ours
	}
	var chosen []script
	var others []string
	for _, s := range ours.scripts {
		if s.domain == "jobs" || slices.Contains(domains, s.domain) {
			chosen = append(chosen, s)
		} else {
			others = append(others, s.domain)
		}
	}
	b := newBlueprint(chosen...)
	b.others = others
	return b
}

// blueprint is what a set of scripts makes.
type blueprint struct {
	scripts []script
	others  []string                          // domains that the file may have beside them
	objects func() (map[string]object, error) // by name; made at the first call
}

func newBlueprint(scripts ...script) *blueprint {
	b := &blueprint{scripts: scripts}
	b.objects = sync.OnceValues(b.build)
	return b
}

// build runs the scripts in memory, and returns what they make.
func (b *blueprint) build() (map[string]object, error) {
	memory, err := modernc.NewConnector(":memory:")
	if err != nil {
		return nil, err
	}
	opened, err := memory.Connect(unbounded)
	if err != nil {
		return nil, err
	}
	c := &Conn{conn: opened, stmts: make(map[string]prepared)}
	defer func() { _ = c.Close() }()
	if err := run(unbounded, c, b.scripts); err != nil {
		return nil, err
	}
	found, err := objects(unbounded, c)
	if err != nil {
		return nil, err
	}
	all := make(map[string]object, len(found))
	for _, o := range found {
		all[o.name] = o
	}
	return all, nil
}

// run makes the tables of scripts, and notes the scripts.
func run(ctx context.Context, c *Conn, scripts []script) error {
	if _, err := c.Exec(ctx, strings.Replace(makeScriptsTable, "TABLE", "TABLE IF NOT EXISTS", 1)); err != nil {
		return err
	}
	at := time.Now().UTC().Format(time.RFC3339)
	for _, s := range scripts {
		if _, err := c.Exec(ctx, s.text); err != nil {
			return fmt.Errorf("make the tables of %s: %w", s.domain, err)
		}
		if _, err := c.Exec(ctx, noteScript, s.domain, s.digest(), program(), at); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes the tables that a file lacks, and checks the tables that it has, all in one
// transaction: of two processes that open a new file at once one does the work, and
// the other finds it done.
func (b *blueprint) prepare(ctx context.Context, c *Conn, adopt bool) (err error) {
	if _, err := c.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = c.Exec(context.WithoutCancel(ctx), "ROLLBACK")
		}
	}()
	missing, err := b.check(ctx, c, adopt)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		err = run(ctx, c, missing)
	} else {
		// BEGIN IMMEDIATE on a read-only file succeeds, as a transaction that cannot write.
		// This changes nothing, but has to be allowed to.
		_, err = c.Exec(ctx, "UPDATE "+scriptsTable+" SET digest = digest WHERE FALSE")
	}
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "COMMIT")
	return err
}

// note is a row of scriptsTable.
type note struct{ domain, digest, program, madeAt string }

// checkNotes refuses tables that other scripts have made, or scripts that this program does
// not know.
func (b *blueprint) checkNotes(notes []note, missing []script) error {
	left := make(map[string]note)
	for _, n := range notes {
		left[n.domain] = n
	}
	for _, s := range b.scripts {
		if slices.Contains(missing, s) {
			continue
		}
		n := left[s.domain]
		if n.digest != s.digest() {
			n.domain = s.domain // which it lacks if there is no note
			return n.refusal()
		}
		delete(left, s.domain)
	}
	for _, n := range notes {
		if _, unknown := left[n.domain]; unknown && !slices.Contains(b.others, n.domain) {
			return n.refusal()
		}
	}
	return nil
}

// refusal is the error for tables that other scripts have made.
func (n note) refusal() error {
	by := ""
	if n.program != "" {
		day, _, _ := strings.Cut(n.madeAt, "T")
		by = fmt.Sprintf(" (it was made by %s on %s)", n.program, day)
	}
	return fmt.Errorf("%w: made by another development version of Mortise (the tables of %s): "+
		"remove it, or open it with the program that made it%s", ErrUnusable, n.domain, by)
}

func readNotes(ctx context.Context, c *Conn) (notes []note, err error) {
	err = c.Query(ctx, notedScripts, nil, func(r *Row) error {
		notes = append(notes, note{r.Text(0), r.Text(1), r.Text(2), r.Text(3)})
		return nil
	})
	return notes, err
}
