package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// vaultState is all that a storage has of a vault. Values are as a full reader sees them.
type vaultState struct {
	Vault  vault.Vault
	Tokens map[string][]string // by scope and value, sorted
	Events []vault.AuditEvent
}

func vaultStateOf(t *testing.T, s *services, b *backends, id string) vaultState {
	t.Helper()
	v, err := s.vault.service.Vault(t.Context(), "acme", id)
	if errors.Is(err, mortise.ErrNotFound) {
		return vaultState{}
	}
	if err != nil {
		t.Fatal(err)
	}
	// Not by Export, which would write to the audit trail.
	state := vaultState{Vault: v, Tokens: make(map[string][]string)}
	keys, err := vaultKeyring(testKey())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := b.vault.Store.ListRows(t.Context(), "acme", id, "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var items []keyring.OpenItem
	for _, r := range rows.Items {
		items = append(items, keyring.OpenItem{Scope: keyring.Scope{Organization: "acme", Vault: id, Name: r.Scope}, Token: r.Token, Sealed: r.Sealed})
	}
	opened, err := keys.Open(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rows.Items {
		if opened[i].Err != nil {
			t.Fatal(opened[i].Err)
		}
		at := r.Scope + "=" + opened[i].Value.Reveal()
		state.Tokens[at] = append(state.Tokens[at], r.Token)
	}
	page, err := b.vault.Store.ListAuditEvents(t.Context(), "acme", vault.AuditQuery{Vault: id, Limit: mortise.MaxPageSize})
	if err != nil {
		t.Fatal(err)
	}
	state.Events = page.Items
	return state
}

// TestProvisioningVaults: what is missing is created, what exists keeps its tokens.
func TestProvisioningVaults(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		text := vaultWith(allColumns, record(`"email":"ada@example.com","card":"4111111111111111","phone":"1"`)+","+record(`"work":"ada@example.com"`)+","+
			record(`"email":"alan@example.com","phone":"1"`))
		if err := apply(t, s, text); err != nil {
			t.Fatal(err)
		}
		first := vaultStateOf(t, s, b, "v1")
		if got := slices.Sorted(maps.Keys(first.Tokens)); !slices.Equal(got, []string{"emails=ada@example.com", "emails=alan@example.com", "persons.card=4111111111111111", "persons.phone=1"}) {
			t.Errorf("%q", got)
		}
		if phones := first.Tokens["persons.phone=1"]; len(phones) != 2 {
			t.Errorf("%d tokens of the same phone number, want one for each record", len(phones))
		}
		if len(first.Events) != 1 || first.Events[0].Kind != mortise.KindVaultCreated || first.Events[0].Actor != "provisioning" || first.Vault.Revision != 1 {
			t.Errorf("%+v", first)
		}

		for _, again := range []string{text, vaultWith(emailColumn, record(`"email":"ada@example.com"`)), `{}`, vaultWith("", "")} {
			if err := apply(t, s, again); err != nil {
				t.Fatal(err)
			}
			if after := vaultStateOf(t, s, b, "v1"); !reflect.DeepEqual(first, after) {
				t.Errorf("after %s: from %+v to %+v", again, first, after)
			}
		}

		// A table, columns and records that are missing.
		more := `{"organizations":[{"id":"acme","vaults":[{"id":"v1","tables":[
			{"name":"orders","columns":[{"name":"mail","tokenization":"deterministic","column_group":"emails","format":"uuid"}]},
			{"name":"persons","columns":[{"name":"ssn","tokenization":"deterministic","format":"digits"}]}],
			"records":[{"table":"orders","fields":{"mail":"ada@example.com"}},{"table":"persons","fields":{"ssn":"123456"}}]}]}]}`
		if err := apply(t, s, more); err != nil {
			t.Fatal(err)
		}
		after := vaultStateOf(t, s, b, "v1")
		if len(after.Vault.Schema.Tables) != 2 || len(after.Vault.Schema.Tables[0].Columns) != 6 || after.Vault.Revision != 2 || len(after.Events) != 2 {
			t.Errorf("%+v", after.Vault)
		}
		want := maps.Clone(first.Tokens)
		want["persons.ssn=123456"] = after.Tokens["persons.ssn=123456"]
		if len(want["persons.ssn=123456"]) != 1 || !reflect.DeepEqual(after.Tokens, want) {
			t.Errorf("from %v to %v", first.Tokens, after.Tokens)
		}

		// A value that was deleted stays deleted, until somebody inserts it, or the
		// document has it in another record.
		token := after.Tokens["emails=ada@example.com"][0]
		if err := s.vault.service.Delete(t.Context(), "acme", "ops", "v1", token); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := apply(t, s, text); err != nil {
				t.Fatal(err)
			}
			gone := vaultStateOf(t, s, b, "v1")
			if got := gone.Tokens["emails=ada@example.com"]; len(got) != 0 {
				t.Errorf("%q came back", got)
			}
			if phones := gone.Tokens["persons.phone=1"]; len(phones) != 2 {
				t.Errorf("%d tokens of the phone number", len(phones))
			}
		}
		if err := apply(t, s, vaultWith(emailColumn, record(`"email":"ada@example.com"`)+","+record(``))); err != nil {
			t.Fatal(err)
		}
		if got := vaultStateOf(t, s, b, "v1").Tokens["emails=ada@example.com"]; len(got) != 0 {
			t.Errorf("%q came back with a record that an earlier document had", got)
		}
		if err := apply(t, s, vaultWith(allColumns, record(`"email":"ada@example.com","phone":"2"`))); err != nil {
			t.Fatal(err)
		}
		if got := vaultStateOf(t, s, b, "v1").Tokens["emails=ada@example.com"]; len(got) != 1 || got[0] == token {
			t.Errorf("%q, and %q was deleted", got, token)
		}
	})
}

// TestProvisionedByAnEarlierVersion: records that an earlier version inserted and
// remembered are not inserted again, and what is remembered is out of everybody's reach.
func TestProvisionedByAnEarlierVersion(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		ctx, service := t.Context(), s.vault.service
		old := record(`"email":"ada@example.com","phone":"1"`)
		if err := apply(t, s, vaultWith(allColumns, "")); err != nil {
			t.Fatal(err)
		}
		items := []vault.Item{
			{Place: vault.InColumn("persons", "email"), Value: vault.NewValue("ada@example.com")},
			{Place: vault.InColumn("persons", "phone"), Value: vault.NewValue("1")},
		}
		digest := sha256.Sum256([]byte(`["acme","v1","persons","email","ada@example.com","phone","1"]`))
		remembered := []vault.Item{{
			Place: vault.InColumn("records", "digest"), Value: vault.NewValue(base64.StdEncoding.EncodeToString(digest[:])),
		}}
		tokens, insertErr := service.Insert(ctx, "acme", provisioning, "v1", items)
		_, ensureErr := service.EnsureVault(ctx, "\x01mortise", provisioning, "provisioned records", vault.Schema{Tables: []vault.Table{{
			Name: "records", Columns: []vault.Column{{Name: "digest", Tokenization: vault.Deterministic}},
		}}})
		if err := errors.Join(insertErr, ensureErr); err != nil {
			t.Fatal(err)
		}
		_, insertErr = service.Insert(ctx, "\x01mortise", provisioning, "provisioned records", remembered)
		deleteErr := service.Delete(ctx, "acme", "ops", "v1", tokens[0])
		if err := errors.Join(insertErr, deleteErr); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := apply(t, s, vaultWith(allColumns, old+","+record(`"phone":"2"`))); err != nil {
				t.Fatal(err)
			}
			after := vaultStateOf(t, s, b, "v1").Tokens
			if len(after) != 2 || !slices.Equal(after["persons.phone=1"], tokens[1:]) || len(after["persons.phone=2"]) != 1 {
				t.Errorf("%v", after)
			}
		}
		// In a vault of the organization, whoever may tokenize could try what values are.
		listed, err := service.ListVaults(ctx, "acme", "", 0)
		if err != nil || len(listed.Items) != 1 || listed.Items[0].ID != "v1" {
			t.Errorf("%+v, %v", listed, err)
		}
	})
}

// TestProvisioningOfOtherColumns: a column that is stored with something else stays as it
// is, and is told once at a start, with its place.
func TestProvisioningOfOtherColumns(t *testing.T) {
	b := storages["memory"](t)
	var log bytes.Buffer
	s, err := wire(testSettings(), b, testKey(), slog.New(slog.NewJSONHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	const email = `"email":"ada@example.com"`
	column := func(more string) string { return vaultWith(`{"name":"email"`+more+`}`, record(email)) }
	if err := apply(t, s, column(`,"tokenization":"deterministic","column_group":"emails","format":"uuid"`)); err != nil {
		t.Fatal(err)
	}
	before := vaultStateOf(t, s, b, "v1")
	for _, step := range []struct{ more, want string }{
		{`,"tokenization":"deterministic","column_group":"emails","format":"uuid"`, ""},
		{`,"tokenization":"deterministic","column_group":"emails"`, ""},
		{`,"tokenization":"deterministic"`, "another column group"},
		{`,"tokenization":"deterministic","column_group":"mails"`, "another column group"},
		{`,"tokenization":"deterministic","column_group":"emails","format":"email"`, "another format"},
		{`,"tokenization":"deterministic","column_group":"emails","mask":"1*@"`, "another mask"},
		{`,"tokenization":"deterministic","column_group":"mails","format":"email","mask":"*"`, "another column group and another format and another mask"},
	} {
		log.Reset()
		if err := apply(t, s, column(step.more)); err != nil {
			t.Fatal(err)
		}
		if step.want == "" {
			if log.Len() != 0 {
				t.Errorf("%s: logged %s", step.more, &log)
			}
		} else if told := log.String(); strings.Count(told, "\n") != 1 || !strings.Contains(told, `"WARN"`) ||
			!strings.Contains(told, "a column is stored with "+step.want+"; what exists is never changed") ||
			!strings.Contains(told, `"place":"line 2, column 40: organizations[0].vaults[0].tables[0].columns[0]"`) {
			t.Errorf("%s: logged %s", step.more, told)
		}
		if after := vaultStateOf(t, s, b, "v1"); !reflect.DeepEqual(before, after) {
			t.Errorf("%s: from %+v to %+v", step.more, before, after)
		}
	}
	// What is added is as the document has it, also a table that has no columns yet.
	log.Reset()
	for range 2 {
		text := strings.Replace(vaultWith(emailColumn+","+phoneColumn, record(email+`,"phone":"1"`)), `"tables":[`, `"tables":[{"name":"empty"},`, 1)
		if err := apply(t, s, text); err != nil || log.Len() != 0 {
			t.Errorf("%v; logged %s", err, &log)
		}
	}
	if after := vaultStateOf(t, s, b, "v1"); len(after.Vault.Schema.Tables) != 2 || after.Vault.Revision != 2 || len(after.Tokens) != 2 {
		t.Errorf("%+v", after)
	}
	if err := apply(t, s, `{"organizations":[{"id":"acme","vaults":[{"id":"v1","tables":[{"name":"later"}]}]}]}`); err != nil {
		t.Error(err)
	}
	if after := vaultStateOf(t, s, b, "v1"); len(after.Vault.Schema.Tables) != 3 || after.Vault.Revision != 3 {
		t.Errorf("%+v", after)
	}
	if err := apply(t, s, vaultWith(`{"name":"email"}`, "")); err != nil || !strings.Contains(log.String(), "another tokenization and another column group;") {
		t.Errorf("%v; logged %s", err, &log)
	}
}

// TestProvisioningRefusesContradictingVaults: what does not go with the vault that is
// stored stops the whole document, before anything is changed.
func TestProvisioningRefusesContradictingVaults(t *testing.T) {
	const value = "ada@example.com"
	onEach(t, func(t *testing.T, s *services, b *backends) {
		if err := apply(t, s, vaultWith(allColumns, record(`"email":"`+value+`"`))); err != nil {
			t.Fatal(err)
		}
		before := vaultStateOf(t, s, b, "v1")
		const mails = `{"name":"email","tokenization":"deterministic","column_group":"emails","format":"email"}`
		for name, test := range map[string]struct{ text, want string }{
			"format of a group": {vaultWith(mails+`,{"name":"other","tokenization":"deterministic","column_group":"emails","format":"email"}`, ""),
				"line 2, column 129: organizations[0].vaults[0].tables[0].columns[1]: does not go with the vault as it is stored: must be the same for all columns of a group"},
			"value for a note": {vaultWith(`{"name":"note","tokenization":"deterministic"}`, record(`"note":"`+value+`"`)),
				"line 3, column 48: organizations[0].vaults[0].records[0].fields.note: does not go with the vault as it is stored: the column has no tokenization"},
			"value for a card": {vaultWith(`{"name":"card","tokenization":"deterministic"}`, record(`"card":"`+value+`"`)),
				"records[0].fields.card: does not go with the vault as it is stored: the value does not fit the column's format"},
		} {
			err := apply(t, s, strings.Replace(test.text, `[{"id":"acme",`, `[{"id":"acme","rbac_enabled":true,`, 1))
			var usage *usageError
			if !errors.As(err, &usage) || !strings.HasPrefix(fmt.Sprint(err), "-config: acme.json: line ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v", name, err)
			}
			if strings.Contains(fmt.Sprint(err), value) {
				t.Errorf("%s: the error repeats a value: %v", name, err)
			}
		}
		if after := vaultStateOf(t, s, b, "v1"); !reflect.DeepEqual(before, after) {
			t.Errorf("from %+v to %+v", before, after)
		}
		if o := stateOf(t, b, "acme").Organization; o.RBAC {
			t.Error("half of a document was applied")
		}
	})
}

// TestProvisioningColumnComesBack: a column whose values have tokens of its own cannot
// come back as one of a group.
func TestProvisioningColumnComesBack(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		const grouped = `{"name":"card","tokenization":"deterministic","column_group":"cards","format":"digits"}`
		if err := apply(t, s, vaultWith(cardColumn, record(`"card":"123456"`))); err != nil {
			t.Fatal(err)
		}
		before := vaultStateOf(t, s, b, "v1")
		if _, err := s.vault.service.ChangeSchema(t.Context(), "acme", "ops", "v1", func(s *vault.Schema) error { s.Tables = nil; return nil }); err != nil {
			t.Fatal(err)
		}
		var usage *usageError
		if err := apply(t, s, vaultWith(grouped, "")); !errors.As(err, &usage) || !strings.Contains(err.Error(), "-config: acme.json: line 1, column 42: organizations[0].vaults[0]: a column that had tokens") {
			t.Errorf("got %v", err)
		}
		if err := apply(t, s, vaultWith(cardColumn, record(`"card":"123456"`))); err != nil {
			t.Fatal(err)
		}
		if after := vaultStateOf(t, s, b, "v1"); !reflect.DeepEqual(before.Tokens, after.Tokens) {
			t.Errorf("from %v to %v", before.Tokens, after.Tokens)
		}
	})
}

// TestProvisioningVaultsAtOnce: several servers on the same data start with the same
// document, and with different ones.
func TestProvisioningVaultsAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *services, b *backends) {
		columns := strings.Split(strings.ReplaceAll(allColumns, "},{", "}\n{"), "\n")
		for round := range 10 {
			var group sync.WaitGroup
			for i := range columns {
				group.Go(func() {
					text := strings.Replace(vaultWith(emailColumn, record(fmt.Sprintf(`"email":"%d"`, round))), `"v1"`, fmt.Sprintf(`"v%d"`, round), 1)
					if i > 0 {
						text = strings.Replace(text, emailColumn, emailColumn+","+columns[i], 1)
					}
					if err := apply(t, s, text); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			after := vaultStateOf(t, s, b, fmt.Sprintf("v%d", round))
			if tables := after.Vault.Schema.Tables; len(tables) != 1 || len(tables[0].Columns) != len(columns) || len(after.Tokens) != 1 || len(after.Tokens[fmt.Sprintf("emails=%d", round)]) != 1 {
				t.Errorf("%+v", after)
			}
		}
	})
}
