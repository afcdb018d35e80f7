package vaultdb

import (
	"strings"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// vaultMemory is what the writer's connection has read of vaults, scopes and keys. With
// it, an insertion writes its rows and reads nothing.
//
// It is as of the number that knownScopes is about, too. That changes when a transaction
// begins and others have written since the last one, and when this connection commits,
// which Committed makes up for. What the connection writes itself is another matter: every
// statement that names one of forgetting, and may write, drops all that is remembered. What
// was read in a transaction that is rolled back goes with the connection.
type vaultMemory struct {
	valid   bool // or it is begun anew
	version uint32
	vaults  map[vaultID]vaultNumber
	scopes  map[scopeOf]int
	keys    knownKeys // nil: not read
	last    int       // no row has a higher number; noRow: not read
}

type vaultNumber struct {
	seq      int
	revision int64
}

type scopeOf struct {
	vault int
	name  string
}

// maxVaultMemory bounds the vaults and the scopes that are remembered.
const maxVaultMemory = 1024

// forgetting are the tables that vaultMemory is about. Of vault_tokens it has a number
// that deletions leave too high, which does no harm.
var forgetting = []string{"vault_vaults", "vault_scopes", "vault_keys", "vault_deleted_orgs"}

// Forgets reports whether a statement, if it writes, may change what is remembered.
func Forgets(text string) bool {
	for _, table := range forgetting {
		if strings.Contains(text, table) {
			return true
		}
	}
	return false
}

// memoryOf returns what the connection remembers. A transaction of the host's remembers
// nothing: its calls can be rolled back one by one.
func memoryOf(t *file.Tx) (*vaultMemory, error) {
	if t.Hosted() {
		return newVaultMemory(0), nil
	}
	version, err := t.Conn().DataVersion()
	if err != nil {
		return nil, err
	}
	m := file.MemoryOf[vaultMemory](t.Conn().Lasting())
	if !m.valid || m.version != version || len(m.vaults) > maxVaultMemory || len(m.scopes) > maxVaultMemory {
		*m = *newVaultMemory(version)
	}
	return m, nil
}

func newVaultMemory(version uint32) *vaultMemory {
	return &vaultMemory{valid: true, version: version, vaults: make(map[vaultID]vaultNumber), scopes: make(map[scopeOf]int), last: noRow}
}

// Forget is called as [file.Memories] says. An operation that is under way may go on with it.
func (m *vaultMemory) Forget() { m.valid = false }

// Committing is called as [file.Memories] says.
func (m *vaultMemory) Committing(c *file.Conn) {
	if version, err := c.DataVersion(); err != nil || version != m.version {
		m.valid = false
	}
}

// Committed is called as [file.Memories] says.
func (m *vaultMemory) Committed(c *file.Conn) {
	version, err := c.DataVersion()
	m.version, m.valid = version, m.valid && err == nil
}

// rememberedVault is vaultRevision of a vault that may be remembered.
func rememberedVault(t *file.Tx, m *vaultMemory, org, id string) (vaultNumber, error) {
	if v, ok := m.vaults[vaultID{org, id}]; ok {
		return v, nil
	}
	var v vaultNumber
	var err error
	if v.seq, v.revision, err = revisionOf(t, org, id); err == nil && v.seq != noVault {
		m.vaults[vaultID{strings.Clone(org), strings.Clone(id)}] = v
	}
	return v, err
}

// rememberedKeys are vaultKeys that may be remembered, to be read only.
func rememberedKeys(t *file.Tx, m *vaultMemory) (keys knownKeys, err error) {
	if m.keys == nil {
		m.keys, err = readKeys(t)
	}
	return m.keys, err
}

// rememberedScope is vaultScope of a scope that may be remembered.
func rememberedScope(t *file.Tx, m *vaultMemory, vault int, name string) (seq int, err error) {
	if seq, ok := m.scopes[scopeOf{vault, name}]; ok {
		return seq, nil
	}
	if seq, err = vaultScope(t, vault, name); err == nil && seq != noScope {
		m.scopes[scopeOf{vault, strings.Clone(name)}] = seq
	}
	return seq, err
}

// newVaultRows returns the number before those of n rows that are to be stored.
func newVaultRows(t *file.Tx, m *vaultMemory, n int) (last int, err error) {
	if m.last == noRow {
		m.last = 0 // of an empty table
		err = t.Query(lastVaultRow, nil, func(r *file.Row) error {
			m.last = r.Number(0)
			return nil
		})
		if err != nil {
			m.last = noRow
			return 0, err
		}
	}
	last = m.last
	m.last += n
	return last, nil
}
