package vaulttest_test

import (
	"context"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// everyVault applies change to all vaults that the mutant returns.
func (m *mutant) everyVault(change func(*vault.Vault)) {
	get := m.vault
	m.vault = func(ctx context.Context, org, id string) (vault.Vault, error) {
		v, err := get(ctx, org, id)
		change(&v)
		return v, err
	}
}

// everyRow applies change to all rows that the mutant returns.
func (m *mutant) everyRow(change func(*vault.Row)) {
	m.everyRows(func(rows []vault.Row) []vault.Row {
		for i := range rows {
			change(&rows[i])
		}
		return rows
	})
}

// everyRows applies change to all lists of rows that the mutant returns.
func (m *mutant) everyRows(change func([]vault.Row) []vault.Row) {
	rows := m.rows
	m.rows = func(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
		got, err := rows(ctx, org, id, tokens)
		return change(got), err
	}
	m.everyListing(change)
	m.everyScan(func(scan scan) scan {
		return func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error) {
			page, err := scan(ctx, version, after, limit)
			page.Rows = change(page.Rows)
			return page, err
		}
	})
}

// everyListing applies change to all pages of a vault's tokens.
func (m *mutant) everyListing(change func([]vault.Row) []vault.Row) {
	list := m.listRows
	m.listRows = func(ctx context.Context, org, id, after string, limit int) ([]vault.Row, error) {
		rows, err := list(ctx, org, id, after, limit)
		return change(rows), err
	}
}

// scan is one of the scans of a rotation.
type scan = func(ctx context.Context, version int, after vault.ScanPosition, limit int) (vault.RowPage, error)

// everyScan makes each scan another one.
func (m *mutant) everyScan(change func(scan) scan) {
	m.rowsWithoutFingerprint = change(m.rowsWithoutFingerprint)
	m.rowsNotSealedUnder = change(m.rowsNotSealedUnder)
}

// everyInsertion applies change to all rows that the mutant is given.
func (m *mutant) everyInsertion(change func(*vault.Row)) {
	insert, imports := m.insertTokens, m.importTokens
	m.insertTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row) ([]string, error) {
		return insert(ctx, org, id, revision, changedRows(rows, change))
	}
	m.importTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
		return imports(ctx, org, id, revision, changedRows(rows, change), a)
	}
}

// changedRows returns copies of rows that a function has changed.
func changedRows(rows []vault.Row, change func(*vault.Row)) []vault.Row {
	own := make([]vault.Row, len(rows))
	for i := range rows {
		own[i] = rows[i].Clone()
		change(&own[i])
	}
	return own
}

// everyLookup applies change to all lookups that the mutant is given.
func (m *mutant) everyLookup(change func(*vault.Lookup)) {
	find := m.findTokens
	m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
		own := make([]vault.Lookup, len(lookups))
		for i := range lookups {
			own[i] = lookups[i]
			own[i].Fingerprints = append([]keyring.Fingerprint(nil), lookups[i].Fingerprints...)
			change(&own[i])
		}
		return find(ctx, org, id, revision, own)
	}
}

// everyKeys applies change to all lists of keys that the mutant returns.
func (m *mutant) everyKeys(change func([]keyring.Key) []keyring.Key) {
	keys := m.keys
	m.keys = func(ctx context.Context) ([]keyring.Key, error) {
		got, err := keys(ctx)
		return change(got), err
	}
}

// everyUsage applies change to all counts that the mutant returns.
func (m *mutant) everyUsage(change func(*keyring.Usage)) {
	usage := m.keyUsage
	m.keyUsage = func(ctx context.Context) (keyring.Usage, error) {
		got, err := usage(ctx)
		if err == nil {
			change(&got)
		}
		return got, err
	}
}

// everyAuditPage applies change to all pages of the trail that the mutant returns.
func (m *mutant) everyAuditPage(change func(*vault.AuditQuery, *mortise.Page[vault.AuditEvent])) {
	events := m.auditEvents
	m.auditEvents = func(ctx context.Context, org string, q vault.AuditQuery) (mortise.Page[vault.AuditEvent], error) {
		page, err := events(ctx, org, q)
		change(&q, &page)
		return page, err
	}
}

// everyEvent applies change to all audit events that the mutant returns.
func (m *mutant) everyEvent(change func(*vault.AuditEvent)) {
	m.everyAuditPage(func(_ *vault.AuditQuery, page *mortise.Page[vault.AuditEvent]) {
		for i := range page.Items {
			change(&page.Items[i])
		}
	})
}

// everyNewEvent applies change to all audit events that the mutant is given.
func (m *mutant) everyNewEvent(change func(*vault.AuditEvent)) {
	put, imports, del, add := m.putVault, m.importTokens, m.deleteToken, m.addAuditEvent
	m.putVault = func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
		change(&a)
		return put(ctx, v, left, a)
	}
	m.importTokens = func(ctx context.Context, org, id string, revision int64, rows []vault.Row, a vault.AuditEvent) error {
		change(&a)
		return imports(ctx, org, id, revision, rows, a)
	}
	m.deleteToken = func(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
		change(&a)
		return del(ctx, org, id, token, a)
	}
	m.addAuditEvent = func(ctx context.Context, e vault.AuditEvent) error {
		change(&e)
		return add(ctx, e)
	}
}

// renamed applies change to every organization, vault, token and scope that the mutant is
// given, as a collation does.
func (m *mutant) renamed(change func(string) string) {
	get, put, find, insert, imports, rows := m.vault, m.putVault, m.findTokens, m.insertTokens, m.importTokens, m.rows
	m.vault = func(ctx context.Context, org, id string) (vault.Vault, error) {
		return get(ctx, change(org), change(id))
	}
	m.putVault = func(ctx context.Context, v vault.Vault, left []string, a vault.AuditEvent) error {
		v.Organization, v.ID = change(v.Organization), change(v.ID)
		return put(ctx, v, left, a)
	}
	m.findTokens = func(ctx context.Context, org, id string, revision int64, lookups []vault.Lookup) ([][]string, error) {
		for i := range lookups {
			lookups[i].Scope = change(lookups[i].Scope)
		}
		return find(ctx, change(org), change(id), revision, lookups)
	}
	m.insertTokens = func(ctx context.Context, org, id string, revision int64, given []vault.Row) ([]string, error) {
		for i := range given {
			given[i].Token, given[i].Scope = change(given[i].Token), change(given[i].Scope)
		}
		return insert(ctx, change(org), change(id), revision, given)
	}
	m.importTokens = func(ctx context.Context, org, id string, revision int64, given []vault.Row, a vault.AuditEvent) error {
		for i := range given {
			given[i].Token, given[i].Scope = change(given[i].Token), change(given[i].Scope)
		}
		return imports(ctx, change(org), change(id), revision, given, a)
	}
	m.rows = func(ctx context.Context, org, id string, tokens []string) ([]vault.Row, error) {
		own := make([]string, len(tokens))
		for i := range tokens {
			own[i] = change(tokens[i])
		}
		return rows(ctx, change(org), change(id), own)
	}
}

// rowsOf returns all rows of a vault.
func (m *mutant) rowsOf(ctx context.Context, org, id string) []vault.Row {
	rows, _ := m.db.ListRows(ctx, org, id, "", 1_000_000)
	return rows
}
