package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise/internal/pgserver"
	"github.com/seed-6363c74e/mortise/storage/postgres"
)

// planExceptions are what plans may do all the same, with a part of the statement, and why.
var planExceptions = []struct{ fault, statement, why string }{
	{"Seq Scan on audiosearch_trash", "", "it has the datasets that are about to be removed"},
	{"Sort by seq", "audiosearch_trash", "likewise"},
	{"Seq Scan on revocations", "", "its rows become one whenever they are read"},
	{"all of vault_keys_pkey", "", "it has a row for each key of the program"},
	{"all of vault_vaults_rest", "", "the index holds only vaults that are about to be removed"},
	{"all of vault_deleted_orgs_rest", "", "the index holds only organizations that are about to be removed"},
	{"Seq Scan on vault_scopes", "", "when a key is retired"},
	{"Sort by t.created_at DESC, t.id DESC", "DELETE FROM", "a client has two secrets, and few tokens"},
	{"Sort by r.created_at DESC, r.id DESC", "r.state = ",
		"an organization's runs that are in a state other than the last one"},
	{"position in audiosearch_runs_open", "r.state = ", "likewise; the index has the time alone"},
	{"all of audiosearch_runs_ended", "row_number()",
		"no index has an organization's ended runs in the order of their ends"},
	{"Sort by o.finished_at NULLS FIRST, o.id", "row_number()", "likewise"},
	{"Sort by trigger_events.submitted_at DESC, trigger_events.id DESC", "idempotency_key = ",
		"one event has the key, at most"},
	{"position in trigger_events_key", "idempotency_key = ", "likewise"},
	{"position in trigger_events_finished", "(finished_at, id) <", "only events that ended at the same moment"},
	{"position in trigger_events_finished_keyed", "(finished_at, id) <", "likewise"},
	{"position in trigger_events_open", "(due_at, id) >", "only events that are due at the same moment"},
	{"organization at audiosearch_datasets_seq_key", "seq = $", "one dataset has the number"},
	{"organization at authmgmt_audit_pkey", "seq = (", "one audit event has the number"},
}

// manyRows has the planner take each table for one with many rows, but for those of deleted
// organizations. It believes that of no table without a page.
const manyRows = `DO $$
DECLARE
	r record;
BEGIN
	SET LOCAL session_replication_role = replica; -- no foreign keys
	SET LOCAL search_path = mortise;
	FOR r IN SELECT conrelid::regclass AS tab, conname FROM pg_constraint
		WHERE contype = 'c' AND connamespace = 'mortise'::regnamespace
	LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', r.tab, r.conname);
	END LOOP;
	FOR r IN SELECT attrelid::regclass AS tab, string_agg(format('%L::%s', CASE
			WHEN typname = 'uuid' THEN gen_random_uuid()::text
			WHEN typcategory = 'A' THEN '{}'
			WHEN typcategory = 'B' THEN 'true'
			WHEN typcategory = 'D' THEN 'now'
			WHEN typcategory = 'N' THEN '1'
			ELSE '' END, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum) AS val
		FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_type t ON t.oid = atttypid
		WHERE relnamespace = 'mortise'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND attnum > 0
		GROUP BY attrelid
	LOOP
		EXECUTE format('INSERT INTO %s OVERRIDING SYSTEM VALUE VALUES (%s) ON CONFLICT DO NOTHING', r.tab, r.val);
	END LOOP;
	UPDATE pg_class SET relpages = 1, reltuples = CASE WHEN relname LIKE '%deleted%' THEN 10 ELSE 10000 END
	WHERE relnamespace = 'mortise'::regnamespace AND relkind = 'r';
END $$`

// byIndexes has the planner go by an index wherever one can serve, from one row to the next,
// by the plan that a connection keeps for any arguments.
const byIndexes = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off;" +
	" SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off"

// checkPlans explains each statement that the tests have sent. Its error has each plan that
// reads a table or an index from end to end, looks in an index past rows of other
// organizations or of pages before, or sorts what no index has in order for a LIMIT, unless
// that is excepted. If all tests have run, it has the exceptions that no statement needs, too.
func checkPlans(server *pgserver.Server) error {
	ctx := context.Background()
	err := admin(server, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE DATABASE plans TEMPLATE mortise_template")
		return err
	})
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, server.DSN("plans"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, manyRows); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, byIndexes); err != nil {
		return err
	}
	var errs []error
	excepted := make(map[string]bool)
	for text := range postgres.Statements.Range {
		text := strings.ReplaceAll(text.(string), "@.", "mortise.")
		if !planned.MatchString(text) {
			continue
		}
		plan, err := explain(ctx, conn, text)
		if err != nil {
			return fmt.Errorf("%w, of %s", err, text)
		}
		var faults []string
		plan.faults(false, &faults)
		for _, fault := range faults {
			ok := false
			for _, e := range planExceptions {
				if e.fault == fault && strings.Contains(text, e.statement) {
					ok, excepted[fault] = true, true
				}
			}
			if !ok {
				errs = append(errs, fmt.Errorf("unwanted: %s\n%s\n%s\n", fault, text, plan.lines("\t")))
			}
		}
	}
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
	for _, e := range planExceptions {
		if whole && !excepted[e.fault] {
			errs = append(errs, fmt.Errorf("no statement needs the exception of %s", e.fault))
		}
	}
	return errors.Join(errs...)
}

var (
	planned        = regexp.MustCompile(`^[\s(]*(SELECT|INSERT|UPDATE|DELETE|WITH)\b`)
	byOrganization = regexp.MustCompile(`(^|[^.\w])organization = | = organization\b`) // of the table itself
)

// explain returns the plan of a statement.
func explain(ctx context.Context, conn *pgx.Conn, text string) (*node, error) {
	prepared, err := conn.Prepare(ctx, "explained", text)
	if err != nil {
		return nil, err
	}
	args := ""
	if n := len(prepared.ParamOIDs); n > 0 {
		args = "(NULL" + strings.Repeat(", NULL", n-1) + ")"
	}
	var plan [1]struct{ Plan node }
	row := conn.QueryRow(ctx, "EXPLAIN (FORMAT JSON) EXECUTE explained"+args, pgx.QueryExecModeSimpleProtocol)
	if err := row.Scan(&plan); err != nil {
		return nil, err
	}
	return &plan[0].Plan, conn.Deallocate(ctx, "explained")
}

// node is one of a plan.
type node struct {
	Type     string   `json:"Node Type"`
	Table    string   `json:"Relation Name"`
	Index    string   `json:"Index Name"`
	Cond     string   `json:"Index Cond"`
	Keys     []string `json:"Sort Key"`
	Relation string   `json:"Parent Relationship"`
	Filter   string
	Plans    []node
}

// faults adds the faults of a node and those below it. limited: a LIMIT ends what it returns.
func (n *node) faults(limited bool, to *[]string) {
	switch n.Type {
	case "Seq Scan", "Bitmap Heap Scan":
		*to = append(*to, n.Type+" on "+n.Table)
	case "Index Scan", "Index Only Scan":
		if n.Cond == "" && !(limited && n.Filter == "") && !strings.HasPrefix(n.Index, "pg_") { // catalogs are small
			*to = append(*to, "all of "+n.Index)
		}
		// organization || '' says that the statement looks by another key.
		if byOrganization.MatchString(n.Filter) {
			*to = append(*to, "organization at "+n.Index)
		}
		if strings.Contains(n.Filter, "ROW(") {
			*to = append(*to, "position in "+n.Index)
		}
	case "Sort", "Incremental Sort":
		if limited && n.unlimited() {
			*to = append(*to, "Sort by "+strings.Join(n.Keys, ", "))
		}
	}
	through := limited && slices.Contains([]string{"LockRows", "Result", "Subquery Scan"}, n.Type)
	for i := range n.Plans {
		below := n.Plans[i].Relation == "Outer" || n.Plans[i].Relation == "Subquery"
		n.Plans[i].faults(below && (through || n.Type == "Limit"), to)
	}
}

// unlimited reports whether a node reads a table, itself or below it, but for a LIMIT.
func (n *node) unlimited() bool {
	return n.Table != "" || n.Type != "Limit" && slices.ContainsFunc(n.Plans, func(p node) bool {
		return p.Relation != "InitPlan" && p.Relation != "SubPlan" && p.unlimited()
	})
}

// lines returns a node and those below it as text.
func (n *node) lines(indent string) string {
	text := indent + n.Type + " " + n.Table + " " + n.Index + " " + n.Cond + strings.Join(n.Keys, ", ")
	if n.Filter != "" {
		text += " Filter: " + n.Filter
	}
	for i := range n.Plans {
		text += "\n" + n.Plans[i].lines(indent+"\t")
	}
	return text
}
