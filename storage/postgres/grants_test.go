package postgres_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// grants are the statements in the documentation of Migrate, with the owner of the tests'
// tables in them.
func grants(t testing.TB, owner string) string {
	t.Helper()
	source, err := os.ReadFile("postgres.go")
	require.NoError(t, err)
	block := regexp.MustCompile(`(?m)(^//\t+.*\n)*^//\tGRANT USAGE .*\n(^//\t+.*\n)*`).FindString(string(source))
	require.Contains(t, block, "ALTER DEFAULT PRIVILEGES")
	block = regexp.MustCompile(`(?m)^//\t+`).ReplaceAllString(block, "")
	return strings.ReplaceAll(block, " owner ", " "+pgx.Identifier{owner}.Sanitize()+" ")
}

// guestDatabase is newDatabase with pools of another role than that of the tables' owner.
func guestDatabase(t testing.TB) *database {
	t.Helper()
	d := newDatabase(t)
	require.NoError(t, admin(d.server, func(ctx context.Context, conn *pgx.Conn) error {
		var there bool
		err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = 'program')").Scan(&there)
		if err == nil && !there {
			_, err = conn.Exec(ctx, "CREATE ROLE program")
		}
		return err
	}))
	d.role = "program"
	return d
}

// grantedDatabase is a guestDatabase whose guests have been granted what they need.
func grantedDatabase(t testing.TB) *database {
	t.Helper()
	d := guestDatabase(t)
	conn, err := pgx.Connect(t.Context(), d.server.DSN(d.name))
	require.NoError(t, err)
	var owner string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_user").Scan(&owner))
	_, err = conn.Exec(t.Context(), grants(t, owner))
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	return d
}

// TestGrants: a program needs no more rights than the documentation of Migrate says, and is
// told so if it has fewer.
func TestGrants(t *testing.T) {
	t.Parallel()
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		d := guestDatabase(t)
		conn, err := pgx.Connect(t.Context(), d.server.DSN(d.name))
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "REVOKE ALL ON SCHEMA mortise FROM program") // of a test before
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
		_, err = postgres.New(t.Context(), d.pool(t), nil)
		require.ErrorContains(t, err, "the role may not use the tables")
		require.ErrorContains(t, err, "documentation of Migrate")
	})
	t.Run("trigger", func(t *testing.T) {
		t.Parallel()
		db := grantedDatabase(t).open(t, nil)
		s, err := trigger.New(db.Trigger(), nil)
		require.NoError(t, err)
		w, err := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) { return trigger.Outcome{}, nil }, nil)
		require.NoError(t, err)
		e, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "x"})
		require.NoError(t, err)
		found, err := w.RunOnce(t.Context())
		require.NoError(t, err)
		require.True(t, found)
		_, err = s.Prune(t.Context(), trigger.StatusCompleted, time.Now().Add(time.Hour))
		require.NoError(t, err)
		_, err = s.Event(t.Context(), "acme", e.ID)
		require.ErrorIs(t, err, mortise.ErrNotFound)
		_, err = s.DeleteOrganization(t.Context(), "acme", "")
		require.NoError(t, err)
	})
}

// TestGrantsOfSuites tries every rule of triggers, and calls of the other domains, with the rights
// that the documentation names.
func TestGrantsOfSuites(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	t.Run("trigger", func(t *testing.T) {
		t.Parallel()
		triggertest.Run(t, events(grantedDatabase))
	})
	t.Run("authmgmt", func(t *testing.T) {
		t.Parallel()
		authmgmttest.RunModel(t, authMgmt(grantedDatabase), &authmgmttest.ModelOptions{Sequences: 1})
	})
	t.Run("vault", func(t *testing.T) {
		t.Parallel()
		vaulttest.RunModel(t, vaults(grantedDatabase), &vaulttest.ModelOptions{Sequences: 1})
	})
	t.Run("audiosearch", func(t *testing.T) {
		t.Parallel()
		audiosearchtest.RunModel(t, sounds(grantedDatabase), &audiosearchtest.ModelOptions{Sequences: 1})
	})
}
