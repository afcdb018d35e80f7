package filetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seed-6363c74e/mortise/internal/testmain"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// Main runs the tests of a package, and explains the statements of the library that they had
// prepared. whole: the tests use the statements of all rooms.
func Main(m *testing.M, whole bool) {
	var plans error
	defer func() {
		if plans != nil {
			fmt.Println(plans)
			os.Exit(1)
		}
	}()
	file.Probe{}.Note(func(text string) {
		if _, again := ran.Load(text); !again && !ofTest() {
			ran.Store(text, true)
		}
	})
	testmain.Parallel(2) // for the disk, and for locks
	defer testmain.TempInMemory()()
	m.Run()
	plans = checkPlans(whole && allTests())
}

// ran holds the statements that tests have had prepared, by their text.
var ran sync.Map

// ofTest reports whether a test prepares a statement, which may be its own.
func ofTest() bool {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if strings.HasPrefix(f.Function, "github.com/seed-6363c74e/mortise/storage/sqlite/internal/") &&
			(strings.HasSuffix(f.File, "_test.go") || strings.Contains(f.File, "/internal/filetest/")) {
			return true
		}
	}
	return false
}

// planExceptions are faults that plans may have, with a part of the statement, and the reason.
var planExceptions = []struct{ fault, statement, why string }{
	{"SCAN mortise_scripts", "", "it has a row for each domain"},
	{"SCAN sqlite_sequence", "", "it has a row for each table that numbers its rows"},
	{"SCAN vault_keys", "", "it has a row for each key of the program"},
	{"SCAN audiosearch_datasets USING INDEX audiosearch_datasets_long", "",
		"the index holds only what is to be forgotten"},
	{"SCAN audiosearch_models USING INDEX audiosearch_models_due", "", "the index holds only what is to be packed"},
	{"SCAN audiosearch_deleted USING COVERING INDEX audiosearch_deleted_left", "",
		"the index holds only what is to be removed"},
	{"SCAN vault_counts", "", "it has a row or two for each scope; for operators, and when a key is retired"},
	{"SCAN vault_fingerprints USING COVERING INDEX vault_fingerprints_row", "count(*)",
		"for operators: the use of each key is counted"},
	{"SEARCH v USING COVERING INDEX sqlite_autoindex_vault_vaults_1 (organization=?)", "vault_deleted_orgs d CROSS JOIN",
		"the vaults of organizations that are about to be removed"},
	{"USE TEMP B-TREE FOR GROUP BY", "vault_fingerprints", "for operators: there is a row for each key"},
	{"USE TEMP B-TREE FOR LAST TERM OF ORDER BY", "finished_at <", "only events that ended at the same moment"},
	{"USE TEMP B-TREE FOR LAST TERM OF ORDER BY", "(finished_at, id) <", "likewise"},
	{"USE TEMP B-TREE FOR LAST TERM OF ORDER BY", "(due_at, id) >", "only events that are due at the same moment"},
	{"USE TEMP B-TREE FOR ORDER BY", "DELETE FROM authmgmt_tokens", "a client has two secrets, and few tokens"},
	{"USE TEMP B-TREE FOR ORDER BY", "FROM sqlite_schema", "what a file has is sorted when it is opened"},
	{"no bound (submitted_at,id)<(?,?)", "idempotency_key =", "one event has the key, at most"},
}

// checkPlans explains each statement that tests have had prepared, in a database without rows.
// Its error has each plan that reads a table or an index from end to end, or all that an
// organization has, sorts, or begins a page before its position, unless that is excepted. If
// whole, it has the exceptions and indexes that no statement needs, too.
func checkPlans(whole bool) (err error) {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	db, err := file.Open(context.Background(), filepath.Join(folder, "plans.db"), Options(nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tables, err := names(db, "type = 'table'")
	if err != nil {
		return err
	}
	var errs []error
	excepted := make(map[string]bool)
	judge := func(fault, text, plan string) {
		for _, e := range planExceptions {
			if e.fault == fault && strings.Contains(text, e.statement) {
				excepted[fault] = true
				return
			}
		}
		errs = append(errs, fmt.Errorf("unwanted: %s\n%s\n%s", fault, text, plan))
	}
	var plans strings.Builder
	for text := range ran.Range {
		text := text.(string)
		if !planned.MatchString(text) {
			continue
		}
		plan, err := plan(db, text)
		if err != nil {
			return fmt.Errorf("%w, of %s", err, text)
		}
		plans.WriteString(plan)
		for _, fault := range faults(text, plan, tables) {
			judge(fault, text, plan)
		}
	}
	if !whole {
		return errors.Join(errs...)
	}
	indexes, err := names(db, "type = 'index' AND sql IS NOT NULL")
	for _, index := range indexes {
		if !regexp.MustCompile(`INDEX ` + index + `\b`).MatchString(plans.String()) {
			judge("an index that no statement uses: "+index, "", "")
		}
	}
	for _, e := range planExceptions {
		if !excepted[e.fault] {
			errs = append(errs, fmt.Errorf("no statement needs the exception of %s", e.fault))
		}
	}
	return errors.Join(append(errs, err)...)
}

// allTests reports whether go test was told to run all of them.
func allTests() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return true
}

// names returns the names of tables or indexes.
func names(db *file.File, which string) (names []string, err error) {
	err = db.Find(context.Background(), file.NoOrg, "SELECT name FROM sqlite_schema WHERE "+which, nil, func(r *file.Row) error {
		names = append(names, r.Text(0))
		return nil
	})
	return names, err
}

var (
	planned   = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b`)
	parameter = regexp.MustCompile(`\?(\d*)`)
	wholeOrg  = regexp.MustCompile(`^SEARCH .* INDEX \w+ \(organization=\?\)$`)
	limited   = regexp.MustCompile(`LIMIT|^SELECT 1 WHERE EXISTS`)
	position  = regexp.MustCompile(`\((\w+), (\w+)\) ([<>]) \(\?\d*, \?\d*\)`)
)

// plan returns the plan of a statement, a line for each node.
func plan(db *file.File, text string) (string, error) {
	args := 0
	for _, p := range parameter.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(p[1]); err == nil {
			args = max(args, n)
		} else {
			args++
		}
	}
	depths := make(map[int]int)
	var lines []string
	err := db.Find(context.Background(), file.NoOrg, "EXPLAIN QUERY PLAN "+text, make([]any, args), func(r *file.Row) error {
		depths[r.Number(0)] = depths[r.Number(1)] + 1
		lines = append(lines, strings.Repeat("\t", depths[r.Number(0)])+r.Text(3))
		return nil
	})
	return strings.Join(lines, "\n") + "\n", err
}

// faults returns the lines of a plan that read a table or an index from end to end, or all that
// an organization has, or sort more than the rows of one page; and where a page begins in no
// index.
func faults(text, plan string, tables []string) (faults []string) {
	for line := range strings.Lines(plan) {
		what := strings.TrimSpace(line)
		sorts := strings.HasPrefix(what, "USE TEMP B-TREE")
		if sorts && strings.HasPrefix(text, "WITH page AS MATERIALIZED") && !strings.HasPrefix(line, "\t\t") {
			continue
		}
		all := wholeOrg.MatchString(what) && !limited.MatchString(text)
		if all || sorts || strings.HasPrefix(what, "SCAN ") && ofTable(text, plan, strings.Fields(what)[1], tables) {
			faults = append(faults, what)
		}
	}
	for _, p := range position.FindAllStringSubmatch(text, -1) {
		bound := fmt.Sprintf("(%s,%s)%s(?,?)", p[1], p[2], p[3])
		// Of two bounds on the same side SQLite takes the first column's.
		if !strings.Contains(plan, bound) && !strings.Contains(plan, " "+p[1]+p[3]+"?") {
			faults = append(faults, "no bound "+bound)
		}
	}
	return faults
}

// ofTable reports whether a name that is scanned is that of a table, or its alias. Others are
// names that the statement has made, or was given.
func ofTable(text, plan, name string, tables []string) bool {
	if strings.Contains(plan, "CO-ROUTINE "+name+"\n") || strings.Contains(plan, "MATERIALIZE "+name+"\n") {
		return false
	}
	return slices.ContainsFunc(tables, func(table string) bool {
		alias, err := regexp.MatchString(`\b`+table+` (AS )?`+regexp.QuoteMeta(name)+`\b`, text)
		return name == table || alias || err != nil
	})
}
