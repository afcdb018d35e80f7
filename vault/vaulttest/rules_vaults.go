package vaulttest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
)

// vaultRules say what a Store keeps of a vault.
var vaultRules = []rule{
	{Rule{"vaults/put-stores-every-field", "PutVault stores v, every field of it and of its schema; Vault returns it."}, 0,
		func(t *testing.T, s *subject) {
			v := s.addVault(t, filledVault(orgA, "customers"))
			s.hasVault(t, v)
			v = s.changeVault(t, v)
			s.hasVault(t, v)
		}},

	{Rule{"vaults/schema-may-be-empty", "A vault without tables and a table without columns are stored as they are."}, 0,
		func(t *testing.T, s *subject) {
			for id, schema := range map[string]vault.Schema{
				"nil": {}, "empty": {Tables: []vault.Table{}}, "no columns": {Tables: []vault.Table{{Name: "a"}, {Name: "b", Columns: []vault.Column{}}}},
			} {
				v := newVault(orgA, id)
				v.Schema = schema
				s.hasVault(t, s.addVault(t, v))
			}
		}},

	{Rule{"vaults/order-is-kept", "Tables and columns keep their order."}, 0,
		func(t *testing.T, s *subject) {
			v := newVault(orgA, "customers")
			v.Schema = vault.Schema{}
			for _, name := range []string{"c", "a", "d", "b", "C", "10", "9"} {
				table := vault.Table{Name: name}
				for _, column := range []string{"z", "y", "Z", "x", "2", "11"} {
					table.Columns = append(table.Columns, vault.Column{Name: column})
				}
				v.Schema.Tables = append(v.Schema.Tables, table)
			}
			s.hasVault(t, s.addVault(t, v))
		}},

	{Rule{"vaults/times-keep-microseconds", "Times of vaults keep microseconds, and are UTC."}, 0,
		func(t *testing.T, s *subject) {
			for _, at := range exactTimes {
				v := newVault(orgA, at.String())
				v.CreatedAt, v.UpdatedAt = at, at.Add(time.Microsecond)
				s.hasVault(t, s.addVault(t, v))
			}
		}},

	{Rule{"vaults/names-are-apart", "A vault is named by its organization and its ID: what reads the same when the two are joined is another vault, and stays when this one is deleted."}, 0,
		func(t *testing.T, s *subject) {
			conformance.Apart(t,
				func(pair [2]string) { s.adds(t, s.addVault(t, newVault(pair[0], pair[1])), row("t", email, "ann", 1)) },
				func(pair [2]string) bool {
					_, err := s.Store.Vault(t.Context(), pair[0], pair[1])
					rows, of := s.Store.Rows(t.Context(), pair[0], pair[1], []string{"t"})
					require.Equal(t, err == nil, of == nil && rows[0].Token == "t", "whether the vault %q has its token", pair)
					return err == nil
				},
				func(pair [2]string) {
					_, err := s.Store.MarkVaultDeleted(t.Context(), pair[0], pair[1], moment(0), vault.AuditEvent{})
					require.NoError(t, err)
				})
		}},

	{Rule{"vaults/longest", "Every text of a vault comes back whole, as long as it can be."}, 0,
		func(t *testing.T, s *subject) {
			v := filledVault(orgA, "customers")
			mutate.Stretch(&v)
			v = s.addVault(t, v)
			sameVaults(t, []vault.Vault{v}, s.listVaults(t, v.Organization))
		}},

	{Rule{"vaults/strings-keep-every-byte", "Strings keep every byte: a vault's organization and ID; and those of its schema and of what it had before."}, 0,
		func(t *testing.T, s *subject) {
			for _, text := range hard {
				v := newVault(text, text)
				v.Schema.Tables = append(v.Schema.Tables, vault.Table{Name: text, Columns: []vault.Column{
					{Name: text, Tokenization: vault.Tokenization(text), Group: text, Format: text, Mask: text},
				}})
				v.Past = append(v.Past, vault.PastColumn{Table: text, Column: text, Group: text})
				s.hasVault(t, s.addVault(t, v))
			}
		}},

	{Rule{"vaults/names-are-bytes", "IDs and organizations are compared as bytes: what differs in one is another vault."}, 0,
		func(t *testing.T, s *subject) {
			for i, text := range hard {
				s.noVault(t, orgA, text)
				v := newVault(orgA, text)
				v.CreatedAt = moment(time.Duration(i) * time.Hour)
				s.addVault(t, v)
			}
			for i, text := range hard {
				v := newVault(orgA, text)
				v.CreatedAt = moment(time.Duration(i) * time.Hour)
				s.hasVault(t, v)
				s.noVault(t, text, "customers")
				s.addVault(t, newVault(text, "customers"))
			}
		}},

	{Rule{"vaults/copies", "Arguments and results are the receiver's own: vaults and the events stored with them are copies."}, 0,
		func(t *testing.T, s *subject) {
			v, e := filledVault(orgA, "customers"), filledEvent(orgA, "customers")
			mine, event := v.Clone(), e.Clone()
			require.NoError(t, s.Store.PutVault(t.Context(), mine, nil, event))
			spoilVault(&mine)
			spoilEvent(&event)
			s.hasVault(t, v)
			s.HasEvent(t, e)
			got, err := s.Store.Vault(t.Context(), orgA, "customers")
			require.NoError(t, err)
			spoilVault(&got)
			s.hasVault(t, v)
			spoilVault(&s.listVaults(t, orgA)[0])
			s.hasVault(t, v)
			next := changed(v)
			mine = next.Clone()
			require.NoError(t, s.Store.PutVault(t.Context(), mine, nil, vault.AuditEvent{}))
			spoilVault(&mine)
			s.hasVault(t, next)
		}},

	{Rule{
		"vaults/get-unknown",
		"Vault is ErrNotFound if there is no such vault. So are the methods that find, insert " +
			"and read tokens; DeleteToken is ErrTokenNotFound.",
	}, 0,
		func(t *testing.T, s *subject) {
			s.noVault(t, orgA, "customers")
			s.noVault(t, "", "")
			s.customers(t)
			s.noVault(t, orgA, "other")
			s.noVault(t, orgA, "")
			s.noVault(t, "", "customers")
		}},

	{Rule{"vaults/get-other-organization", "What belongs to another organization reads as what does not exist."}, 0,
		func(t *testing.T, s *subject) {
			v := s.addVault(t, filledVault(orgA, "customers"))
			s.adds(t, v, row("t", email, "ann", 1))
			s.noVault(t, orgB, "customers")
			s.refusesVault(t, changed(newVault(orgB, "customers")), nil, mortise.ErrNotFound)
			s.hasVault(t, v)
			s.hasRow(t, v, row("t", email, "ann", 1))
		}},

	{Rule{"vaults/id-is-of-its-organization", "Two organizations can have vaults of one ID, which have nothing in common."}, 0,
		func(t *testing.T, s *subject) {
			a, b := filledVault(orgA, "customers"), newVault(orgB, "customers")
			s.addVault(t, a)
			s.addVault(t, b)
			a = s.changeVault(t, a)
			s.hasVault(t, a)
			s.hasVault(t, b)
		}},
}

// vaultChangeRules say when PutVault changes a vault.
var vaultChangeRules = []rule{
	{Rule{"vaults/put-refuses-an-id-that-is-there", "PutVault of revision 1 is ErrExists if there is such a vault, of whatever revision, and changes nothing."}, 0,
		func(t *testing.T, s *subject) {
			v := s.addVault(t, filledVault(orgA, "customers"))
			s.refusesVault(t, newVault(orgA, "customers"), nil, mortise.ErrExists)
			s.refusesVault(t, v, nil, mortise.ErrExists)
			s.hasVault(t, v)
			v = s.changeVault(t, v)
			s.refusesVault(t, newVault(orgA, "customers"), nil, mortise.ErrExists)
			s.hasVault(t, v)
		}},

	{Rule{"vaults/put-of-another-revision", "PutVault is ErrConflict if the stored revision is not one less, and changes nothing."}, 0,
		func(t *testing.T, s *subject) {
			v := s.changeVault(t, s.changeVault(t, s.addVault(t, filledVault(orgA, "customers"))))
			for _, revision := range []int64{-1, 0, 2, 3, 5, 6, 1 << 40} {
				wrong := changed(v)
				wrong.Revision = revision
				s.refusesVault(t, wrong, nil, vault.ErrConflict)
				s.hasVault(t, v)
			}
			s.hasVault(t, s.changeVault(t, v))
		}},

	{Rule{"vaults/put-of-none", "PutVault of another revision than 1 is ErrNotFound if there is no such vault, and makes none."}, 0,
		func(t *testing.T, s *subject) {
			for _, revision := range []int64{0, 2, 3} {
				v := newVault(orgA, "customers")
				v.Revision = revision
				s.refusesVault(t, v, nil, mortise.ErrNotFound)
				s.refusesVault(t, v, []string{email}, mortise.ErrNotFound)
			}
			s.noVault(t, orgA, "customers")
		}},

	{Rule{"vaults/created-at-does-not-change", "CreatedAt does not change when a vault takes another's place."}, 0,
		func(t *testing.T, s *subject) {
			v := s.addVault(t, filledVault(orgA, "customers"))
			next := changed(v)
			next.CreatedAt = moment(time.Hour)
			require.NoError(t, s.Store.PutVault(t.Context(), next.Clone(), nil, vault.AuditEvent{}))
			next.CreatedAt = v.CreatedAt
			s.hasVault(t, next)
		}},

	{Rule{"vaults/put-stores-the-event", "PutVault stores the audit event, of a new vault and of a change."}, 0,
		func(t *testing.T, s *subject) {
			v := filledVault(orgA, "customers")
			made, after := filledEvent(orgA, "customers"), filledEvent(orgA, "customers")
			require.NoError(t, s.Store.PutVault(t.Context(), v, nil, made.Clone()))
			require.NoError(t, s.Store.PutVault(t.Context(), changed(v), nil, after.Clone()))
			s.HasEvent(t, made)
			s.HasEvent(t, after)
			require.Len(t, s.Trail(t, orgA), 2)
		}},

	{Rule{"vaults/event-without-id", "An audit event without ID is none, and is not stored: with a vault, with a deleted token, and alone."}, 0,
		func(t *testing.T, s *subject) {
			v := filledVault(orgA, "customers")
			none := filledEvent(orgA, "customers")
			none.ID = uuid.Nil
			require.NoError(t, s.Store.PutVault(t.Context(), v, nil, none.Clone()))
			s.hasVault(t, v)
			require.NoError(t, s.Store.PutVault(t.Context(), changed(v), nil, none.Clone()))
			v = changed(v)
			s.hasVault(t, v)
			s.adds(t, v, row("t", email, "ann", 1))
			require.NoError(t, s.Store.DeleteToken(t.Context(), orgA, "customers", "t", none.Clone()))
			s.noRow(t, v, row("t", email, "ann", 1))
			require.NoError(t, s.Store.AddAuditEvent(t.Context(), none.Clone()))
			require.NoError(t, s.Store.AddAuditEvent(t.Context(), none.Clone()))
			require.Empty(t, s.Trail(t, orgA))
		}},

	{Rule{"vaults/put-changes-no-token", "A change of a vault touches no token, whatever becomes of the schema."}, 0,
		func(t *testing.T, s *subject) {
			v := s.customers(t)
			ann, bea := row("t1", email, "ann", 1, 2), row("t2", "persons.phone", "bea")
			s.adds(t, v, ann, bea)
			v = s.changeVault(t, v)
			bare := changed(v)
			bare.Schema = vault.Schema{}
			require.NoError(t, s.Store.PutVault(t.Context(), bare.Clone(), nil, vault.AuditEvent{}))
			s.hasRow(t, bare, ann)
			s.hasRow(t, bare, bea)
			s.gives(t, bare, []string{"t1"}, row("t3", email, "ann", 1, 2))
		}},
}
