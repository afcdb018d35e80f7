package postgres_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TestTriggerPlans: with many events, no statement of many reads a table from end to end.
func TestTriggerPlans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := takeDatabase(t, true)
	db := d.open(t, nil)
	pool := d.pool(t)
	now, org, all := time.Now(), "acme", []int16{0, 1, 2, 3, 4, 5}
	page := []any{org, all, now, uuid.Nil, now.Add(-time.Hour * 1000), 51, 1 << 20}
	args := map[string][]any{
		"list": page, "list of a source": append(page[:7:7], "host"), "list of a key": append(page[:7:7], "7", "api"),
		"overdue": {now, 100}, "progress": {"{" + uuid.NewString() + "," + uuid.NewString() + "}"}, "all failed": {3, now, uuid.Nil, 51, 1 << 20},
		"all open": {0, now.Add(-time.Hour * 1000), uuid.Nil, 51, 1 << 20, now},
		"prune":    {2, now.Add(-20000 * time.Second), 500}, "prune keyed": {2, now.Add(-20000 * time.Second), 500},
		"count": {org, 1001}, "count open": {1001}, "list keys": {org, now.Add(-time.Hour), uuid.Nil, 51}, "remove": {org, 100},
		"get": {uuid.New(), org}, "get by key": {org, "7"}, "key": {uuid.New(), org},
		"end": {"job", "trigger", org, uuid.New(), uuid.New(), org, 1, 1, now, nil, 1, "", nil, nil, 0, nil, nil, nil, nil},
	}
	indexes := map[string]string{
		"list": "trigger_events_status", "list of a source": "trigger_events_source", "list of a key": "trigger_events_key",
		"overdue": "trigger_events_wake", "progress": "trigger_events_pkey", "all failed": "trigger_events_finished_keyed",
		"all open": "trigger_events_open", "prune": "trigger_events_finished", "prune keyed": "trigger_events_finished_keyed",
		"count": "trigger_events_status", "count open": "trigger_events_open", "list keys": "trigger_api_keys_listing",
		"remove": "trigger_events_status", "get": "trigger_events_pkey", "get by key": "trigger_events_key",
		"key": "trigger_api_keys_id_key", "end": "trigger_events_pkey",
	}
	maintenance := []string{"remove", "prune", "prune keyed"}
	kept := []string{"overdue", "progress", "all failed", "all open"}
	look := func(when string, without ...string) {
		for name, text := range postgres.TriggerStatements {
			if slices.Contains(without, name) {
				continue
			}
			// A connection goes over to plans without regard to the arguments.
			for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
				require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
					set := "SET LOCAL plan_cache_mode = " + mode
					if slices.Contains(kept, name) {
						set = postgres.ByKeptPlans
					}
					if _, err := tx.Exec(ctx, set); err != nil {
						return err
					}
					plan := planOf(t, tx, db.SQL(text), args[name])
					assert.NotRegexp(t, `Seq Scan on (trigger_|jobs)`, plan, "%s, %s, %s", name, mode, when)
					assert.Contains(t, plan, " "+indexes[name]+" on ", "%s, %s, %s", name, mode, when)
					return nil
				}))
			}
		}
	}
	// A program that has begun then keeps its plans until the tables are analyzed.
	look("while nothing is stored", maintenance...)
	for _, fill := range []string{
		"INSERT INTO mortise.trigger_events (id, version, organization, submitted_at, finished_at, due_at, wake_at, attempts," +
			" generation, status, source, instructions, idempotency_key, last_error, submitted_by)" +
			" SELECT gen_random_uuid(), 0, CASE WHEN n % 3 = 0 THEN 'other'::text ELSE 'acme' END, now() - n * interval '1 second'," +
			" CASE WHEN n % 20 <> 0 THEN now() - n * interval '1 second' END, now() - n * interval '1 second'," +
			" CASE WHEN n % 40 = 0 THEN now() - n * interval '1 second' END," +
			" 1, 0, CASE WHEN n % 20 = 0 THEN 0 WHEN n % 50 = 1 THEN 3 ELSE 2 END, CASE WHEN n % 7 = 0 THEN 'host'::text ELSE 'api' END," +
			" 'Document it.', CASE WHEN n % 2 = 1 THEN n::text END, '', '' FROM generate_series(1, 30000) AS n",
		"INSERT INTO mortise.jobs (id, kind, organization, claimable_at, deliveries, dead)" +
			" SELECT id::text || '-0', 'trigger', organization, now(), 0, status = 3 FROM mortise.trigger_events WHERE status <> 2",
		"INSERT INTO mortise.trigger_api_keys (digest, id, organization, name, created_at)" +
			" SELECT sha256(n::text::bytea), gen_random_uuid(), 'acme', '', now() - n * interval '1 second' FROM generate_series(1, 5000) AS n",
		"INSERT INTO mortise.trigger_deleted (organization, since) SELECT n::text, now() FROM generate_series(1, 5000) AS n",
		"ANALYZE",
	} {
		_, err := pool.Exec(ctx, fill)
		require.NoError(t, err)
	}
	look("with many events")
}

// TestListPlans: the plan that a connection keeps of a list reads no more events than the page
// holds, whatever PostgreSQL knew of the table when it was made: with few or many rows, of
// one organization among others, of one source, of which others are not known.
func TestListPlans(t *testing.T) {
	t.Parallel()
	ctx, d := t.Context(), takeDatabase(t, true)
	db, pool := d.open(t, nil), d.pool(t)
	const fill = "INSERT INTO mortise.trigger_events (id, version, organization, submitted_at, attempts, generation, status, source, instructions, last_error, submitted_by)" +
		" SELECT gen_random_uuid(), 0, %s, now() - n * interval '1 second', 1, 0, %s, %s, 'x', '', '' FROM generate_series(1, %d) AS n"
	const one, alone, many = "'acme'::text", "2", "CASE WHEN n % 2 = 0 THEN 'acme'::text ELSE (n % 300)::text END"
	args := []any{"acme", []int16{0, 1, 2, 3, 4, 5}, time.Now(), uuid.Nil, time.Now().Add(-time.Hour), 51, 1 << 20}
	for when, statement := range map[string]string{
		"no event":                        "SELECT",
		"one event":                       fmt.Sprintf(fill, one, alone, "'api'::text", 1),
		"300 events of one source":        fmt.Sprintf(fill, one, alone, "'api'::text", 300),
		"300 events of 300 organizations": fmt.Sprintf(fill, "n::text", "n % 4", "n::text", 300),
		"many events of one source":       fmt.Sprintf(fill, one, "CASE WHEN n % 20 = 0 THEN 0 ELSE 2 END", "'api'::text", 30000),
		"an organization beside 300":      fmt.Sprintf(fill, many, "CASE WHEN n % 20 = 0 THEN 0 ELSE 2 END", "CASE WHEN n % 50 = 0 THEN 'host'::text ELSE 'api' END", 30000),
	} {
		require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			for _, text := range []string{"TRUNCATE mortise.trigger_events", statement, "ANALYZE mortise.trigger_events", postgres.ByKeptPlans} {
				if _, err := tx.Exec(ctx, text); err != nil {
					return err
				}
			}
			for name, more := range map[string][]any{"list": nil, "list of a source": {"host"}} {
				index := map[string]string{"list": "trigger_events_status", "list of a source": "trigger_events_source"}[name]
				for _, limit := range []string{"LIMIT 51", "LIMIT 1001"} {
					text := strings.Replace(postgres.TriggerStatements[name], "LIMIT 51", limit, 1)
					plan := planOf(t, tx, db.SQL(text), slices.Concat(args, more))
					assert.Regexp(t, `->  Limit [^\n]*\n *->  Index Scan Backward using `+index+` on trigger_events [^\n]*\n *Index Cond: [^\n]*status`, plan, "%s, %s, %s", name, limit, when)
					plan = strings.Replace(plan, "Filter: (COALESCE(", "", 1) // the bytes before an event of the page
					assert.NotContains(t, plan, "  Filter:", "%s, %s, %s", name, limit, when)
				}
			}
			return nil
		}))
	}
}

// TestSharedPlans: what a group shares goes by indexes, from one row of arguments to the
// next, with many rows, with few, before PostgreSQL knows the tables, and when it knows that
// all rows of an index are dead.
func TestSharedPlans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := takeDatabase(t, true)
	db, pool := d.open(t, nil), d.pool(t)
	look := func(when string) {
		for s, want := range postgres.SharedStatements {
			text, n := s.Many, len(s.Types)
			args := make([]any, n)
			for i := range args {
				args[i] = "{}"
			}
			for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
				require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
					if _, err := tx.Exec(ctx, "SET LOCAL plan_cache_mode = "+mode); err != nil {
						return err
					}
					if _, err := tx.Exec(ctx, postgres.GroupSettings, "100"); err != nil {
						return err
					}
					plan := planOf(t, tx, db.SQL(text), args)
					assert.Regexp(t, want, plan, "%s, %s", mode, when)
					assert.NotRegexp(t, `Seq Scan on (trigger_|jobs|authmgmt_)`, plan, "%s, %s", mode, when)
					return nil
				}))
			}
		}
	}
	look("while nothing is stored")
	for _, rows := range []int{50, 20000} { // autovacuum analyzes from 50 on
		for _, fill := range []string{
			"TRUNCATE mortise.trigger_events, mortise.jobs, mortise.authmgmt_clients, mortise.trigger_deleted, mortise.authmgmt_deleted CASCADE",
			"INSERT INTO mortise.trigger_events (id, version, organization, submitted_at, attempts, generation, status, source, instructions, last_error, submitted_by)" +
				" SELECT gen_random_uuid(), 0, 'acme', now(), 1, 0, 0, 'api', 'Document it.', '', '' FROM generate_series(1, $1)",
			"INSERT INTO mortise.jobs (id, kind, organization, claimable_at, deliveries, dead)" +
				" SELECT id::text || '-0', 'trigger', organization, now(), 0, false FROM mortise.trigger_events",
			"INSERT INTO mortise.authmgmt_clients (organization, id, name, roles, created_at) SELECT 'acme', n::text, '', '', now() FROM generate_series(1, $1) n",
			"INSERT INTO mortise.trigger_deleted (organization, since) SELECT n::text, now() FROM generate_series(1, $1) AS n",
			"INSERT INTO mortise.authmgmt_deleted (organization, at) SELECT n::text, now() FROM generate_series(1, $1) AS n",
			"ANALYZE",
		} {
			_, err := pool.Exec(ctx, strings.ReplaceAll(fill, "$1", fmt.Sprint(rows)))
			require.NoError(t, err)
		}
		look(fmt.Sprint("with rows: ", rows))
		_, err := pool.Exec(ctx, "DELETE FROM mortise.jobs; DELETE FROM mortise.authmgmt_clients; ANALYZE")
		require.NoError(t, err)
		look(fmt.Sprint("all jobs and clients are gone: ", rows))
	}
}

// TestClaimPlans: a claim looks at as many jobs as it takes, however many there are, by the
// plan that a connection keeps, also if it was made before PostgreSQL knew the table.
func TestClaimPlans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := takeDatabase(t, true)
	db, pool := d.open(t, nil), d.pool(t)
	const limit, organizations = 20, 10
	kinds, orgs, since := []string{"trigger", "audiosearch"}, []string{}, []time.Time{}
	for i := range organizations {
		orgs, since = append(orgs, strconv.Itoa(i)), append(since, time.Time{})
	}
	statements := map[string]struct {
		text string
		args []any
	}{
		"new":  {postgres.NewJobs, []any{nil, kinds, time.Now().Add(-time.Minute), time.Now().Add(-time.Minute), nil, 10}},
		"all":  {postgres.AllJobs, []any{nil, kinds, []byte{}, 10000}},
		"take": {postgres.TakeJobs, []any{nil, kinds, orgs, since, limit, int64(1e6), uuid.New(), limit, limit}},
	}
	conn, err := pool.Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	for name, s := range statements {
		_, err := conn.Exec(ctx, "PREPARE jobs_"+name+" AS "+db.SQL(s.text), pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
	}
	// look does them, and counts the rows that each scan of the table has read.
	look := func(when string, taken int) {
		tx, err := conn.Begin(ctx)
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Rollback(ctx)) }()
		_, err = tx.Exec(ctx, postgres.ClaimSettings)
		require.NoError(t, err)
		for name, s := range statements {
			plan := explainPrepared(t, tx, "EXPLAIN (ANALYZE, TIMING OFF)", "jobs_"+name, s.args)
			assert.NotContains(t, plan, "Seq Scan on jobs", "%s, %s", name, when)
			index := map[string]string{"new": "jobs_claimable", "all": "jobs_order", "take": "jobs_order"}[name]
			for _, scan := range indexOfJobs.FindAllStringSubmatch(plan, -1) {
				assert.Equal(t, index, scan[1], "%s, %s", name, when)
			}
			for _, scan := range scansOfJobs.FindAllStringSubmatch(plan, -1) {
				rows, err := strconv.Atoi(scan[1])
				require.NoError(t, err)
				loops, err := strconv.Atoi(scan[2])
				require.NoError(t, err)
				assert.LessOrEqual(t, rows*loops, 2*limit*organizations, "%s, %s: %s", name, when, plan)
			}
			if name == "take" {
				assert.Regexp(t, fmt.Sprintf(`(?m)Update on jobs[^\n]*\(actual rows=%d `, taken), plan, when)
			}
		}
	}
	look("while nothing is stored", 0)
	const fill = "INSERT INTO mortise.jobs (id, kind, organization, claimable_at, deliveries, dead)" +
		" SELECT n::text, 'trigger', (n %% %d)::text, now() - n * interval '1 second', 0, false FROM generate_series(1, %d) AS n"
	for _, n := range []int{50, 20000} {
		_, err := pool.Exec(ctx, "TRUNCATE mortise.jobs")
		require.NoError(t, err)
		_, err = pool.Exec(ctx, fmt.Sprintf(fill, organizations, n))
		require.NoError(t, err)
		look(fmt.Sprintf("not analyzed, jobs: %d", n), limit)
		_, err = pool.Exec(ctx, "ANALYZE mortise.jobs")
		require.NoError(t, err)
		look(fmt.Sprintf("jobs: %d", n), limit)
		_, err = pool.Exec(ctx, "DELETE FROM mortise.jobs; ANALYZE mortise.jobs")
		require.NoError(t, err)
		look(fmt.Sprintf("none is left of %d jobs", n), 0)
		_, err = pool.Exec(ctx, fmt.Sprintf(fill, organizations, n))
		require.NoError(t, err)
		look(fmt.Sprintf("as many again: %d", n), limit)
	}
}

var indexOfJobs = regexp.MustCompile(`using (jobs_\w+) on jobs\b`)

var scansOfJobs = regexp.MustCompile(`Scan (?:using \w+ )?on (?:jobs|jobs_\w+)\b[^\n]*\(actual rows=(\d+)[^ ]* loops=(\d+)\)`)

// TestLonePlans: a plan that a connection has made of a table that is known to be empty, or to
// have a few rows, for calls that met no others or that write by themselves, does for a full one.
func TestLonePlans(t *testing.T) {
	t.Parallel()
	// A session that has missed many changes to the schemas of other tests forgets its plans, and
	// the explaining one plans anew without the settings of this package.
	var wrong string
	for range 5 {
		if wrong = lonePlans(t); wrong == "" {
			return
		}
	}
	require.Fail(t, "no index", wrong)
}

// lonePlans returns the plan of a statement that a connection has kept, and that goes by no
// index.
func lonePlans(t *testing.T) (wrong string) {
	ctx, d := t.Context(), takeDatabase(t, true)
	config := d.pool(t).Config()
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	require.NoError(t, err)
	defer closePool(t, pool)
	db, err := postgres.New(ctx, pool, nil)
	require.NoError(t, err)
	// Autovacuum would have the explaining session plan anew.
	for _, table := range []string{"jobs", "authmgmt_tokens", "authmgmt_clients", "audiosearch_names", "audiosearch_vocabularies"} {
		_, err = pool.Exec(ctx, "ALTER TABLE mortise."+table+" SET (autovacuum_enabled = false)")
		require.NoError(t, err)
	}
	for _, statement := range []string{
		"INSERT INTO mortise.authmgmt_tokens (digest, id, organization, subject, roles, created_at)" +
			" SELECT sha256(n::text::bytea), gen_random_uuid(), 'acme', '', '', now() FROM generate_series(1, 20) n",
		"INSERT INTO mortise.authmgmt_clients (organization, id, name, roles, created_at) SELECT 'acme', n::text, '', '', now() FROM generate_series(1, 20) n",
		"VACUUM ANALYZE mortise.jobs, mortise.authmgmt_tokens, mortise.authmgmt_clients",
	} {
		_, err = pool.Exec(ctx, statement)
		require.NoError(t, err)
	}
	lease := mortise.Lease{Job: mortise.Job{Kind: "k", Organization: "acme", ID: "1"}, Token: uuid.New()}
	store := db.AuthMgmt().Store
	for i := range 10 { // then the plan is kept
		require.ErrorIs(t, db.Jobs().Remove(ctx, lease, false), mortise.ErrLeaseLost)
		require.ErrorIs(t, store.UpdateToken(ctx, "acme", uuid.New(), nil), mortise.ErrNotFound)
		require.NoError(t, store.UpdateClient(ctx, "acme", "7", func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
			c.Name = fmt.Sprint("name ", i)
			return authmgmt.AuditEvent{ID: uuid.New(), At: time.Now(), Kind: "client_updated", Actor: "ada", Target: "7"}, nil
		}))
	}
	lists := []string{postgres.TriggerStatements["list"], postgres.TriggerStatements["list of a source"]}
	for i, text := range lists {
		_, err := db.Trigger().Store.ListEvents(ctx, "acme", trigger.EventQuery{Limit: 45, Source: []string{"", "host"}[i]})
		require.NoError(t, err)
		var kept, own int
		const find = "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement = $1"
		require.NoError(t, pool.QueryRow(ctx, find, db.SQL(text)).Scan(&kept, &own))
		require.Equal(t, []int{1, 0}, []int{kept, own}, "%s: it is planned for its arguments", text)
	}
	sounds, tone := db.AudioSearch().Store, [][]uint16{{1}}
	require.NoError(t, sounds.CreateDataset(ctx, audiosearch.Dataset{Organization: "acme", ID: "d"}))
	require.NoError(t, sounds.PutVideos(ctx, "acme", "d", []audiosearch.Video{{ID: "v", Path: "v.wav"}}))
	scoring := audiosearch.Scoring{Model: "m", Windows: 1, Classes: []sound.Class{"Bark"}}
	require.NoError(t, sounds.PutScoring(ctx, "acme", "d", "v", "v.wav", scoring, tone))
	_, err = pool.Exec(ctx, "VACUUM ANALYZE mortise.audiosearch_names, mortise.audiosearch_vocabularies")
	require.NoError(t, err)
	for range 10 { // each of a program that remembers no name
		other, err := postgres.New(ctx, pool, nil)
		require.NoError(t, err)
		found, err := other.AudioSearch().Store.Scorings(ctx, "acme", "d", "m", []string{"v"})
		require.NoError(t, err)
		require.Equal(t, scoring.Classes, found["v"].Classes)
		require.NoError(t, other.Close())
	}
	require.NoError(t, db.Close())
	for _, s := range []struct {
		text  string
		args  []any
		index string
	}{
		{postgres.RemoveJob, []any{"1", "k", "acme", uuid.New()}, "jobs_pkey"},
		{postgres.UpdateClientAlone, slices.Concat([]any{"acme", "7", "1", "", "", time.Now(), uuid.New(), "acme", time.Now()},
			[]any{"", "", "", "", "", 0}), "authmgmt_clients_pkey"},
		{postgres.LockToken, []any{"acme", uuid.New()}, "authmgmt_tokens_id_key"},
		{postgres.VocabularyNames, []any{1}, "audiosearch_names_pkey"},
	} {
		require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			var name string
			var kept int
			const find = "SELECT name, generic_plans FROM pg_prepared_statements WHERE statement = $1"
			if err := tx.QueryRow(ctx, find, db.SQL(s.text)).Scan(&name, &kept); err != nil {
				return err
			}
			require.Positive(t, kept, s.text)
			plan := explainPrepared(t, tx, "EXPLAIN", name, s.args)
			if !regexp.MustCompile("Index Scan using " + s.index + `\b[^\n]*\n +Index Cond`).MatchString(plan) {
				wrong = plan
			}
			return nil
		}))
	}
	return wrong
}

// planOf returns the plan of a statement.
func planOf(t *testing.T, tx pgx.Tx, text string, args []any) string {
	t.Helper()
	ctx := t.Context()
	_, err := tx.Exec(ctx, "PREPARE explained AS "+text, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	defer func() {
		_, err := tx.Exec(ctx, "DEALLOCATE explained")
		require.NoError(t, err)
	}()
	return explainPrepared(t, tx, "EXPLAIN", "explained", args)
}

// explainPrepared returns the plan of a prepared statement, as a kind of EXPLAIN tells it.
func explainPrepared(t *testing.T, tx pgx.Tx, how, name string, args []any) string {
	t.Helper()
	places := make([]string, len(args))
	for i := range args {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	rows, err := tx.Query(t.Context(), how+" EXECUTE "+name+" ("+strings.Join(places, ", ")+")", append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(lines, "\n")
}
