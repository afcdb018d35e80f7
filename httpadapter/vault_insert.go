package httpadapter

import (
	"net/http"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// records is the body of insertRecords.
type records struct {
	fields []recordField // of all records, one after the other
	values []string      // of the fields
	items  []vault.Item  // the same for the service
	sizes  []int         // how many fields each record has
	tokens bool          // are asked for
	upsert string        // the column that it names, "" for none
}

// recordField is where a value stands.
type recordField struct {
	record int
	name   string
}

// insertRecords stores the values of records, all or none.
func (a *vaultAdapter) insertRecords(c *call) response {
	in, wrong := a.readRecords(c.body, c.r.PathValue("table"))
	if failed := a.checked(c, wrong); failed != nil {
		return *failed
	}
	if in.upsert != "" {
		if failed := a.checkUpsert(c, in); failed != nil {
			return *failed
		}
	}
	tokens, err := a.service.Insert(c.r.Context(), c.principal.Organization, mortise.Actor(c.principal.Subject), c.vaultID(), in.items)
	if err != nil {
		return a.h.failAs(errorTable{classify: in.classify, reply: replyVault}, c, err)
	}
	return response{status: http.StatusOK, body: in.answer(tokens)}
}

// checkUpsert refuses an upsert that is more than an insertion. A deterministic column keeps
// the token of a value that is stored; a random one makes a new token each time. A table that
// does not exist is for the insertion to find.
func (a *vaultAdapter) checkUpsert(c *call, in *records) *response {
	v, err := a.service.Vault(c.r.Context(), c.principal.Organization, c.vaultID())
	if err != nil {
		failed := a.h.fail(c, err)
		return &failed
	}
	for _, table := range v.Schema.Tables {
		if table.Name != c.r.PathValue("table") {
			continue
		}
		kinds := make(map[string]vault.Tokenization)
		for _, column := range table.Columns {
			kinds[column.Name] = column.Tokenization
		}
		random := func(f recordField) bool { return kinds[f.name] == vault.Random }
		if kinds[in.upsert] != vault.Deterministic || slices.ContainsFunc(in.fields, random) {
			return c.refuse(vaultProblem(http.StatusBadRequest, unsupportedField(ofBody, "upsert",
				"Leave it out, or name a deterministic column and insert no random ones.")))
		}
	}
	return nil
}

// readRecords reads a body of records.
func (a *vaultAdapter) readRecords(body []byte, table string) (*records, *problem) {
	b, wrong := a.readBatch(body)
	if wrong != nil {
		return nil, wrong
	}
	const list = "records"
	in := &records{tokens: true}
	b.upserts = true
	if wrong = b.list(list, func(i int, item strictjson.Value) { b.record(i, item, in) }); wrong != nil {
		return nil, wrong
	}
	if len(in.fields) > b.maxItems {
		return nil, b.tooLong(list)
	}
	if v, given := b.root.Get("tokenization"); given {
		if in.tokens = v.Bool(); v.Kind() != strictjson.Bool {
			b.add(itemDetail{Field: "tokenization", Reason: reasonType, text: "The field tokenization must be true or false."})
		}
	}
	in.upsert = b.upsert.Text()
	in.items = make([]vault.Item, len(in.fields))
	for i, v := range keyring.Values(in.values) {
		in.items[i] = vault.Item{Place: vault.InColumn(table, in.fields[i].name), Value: v}
	}
	return in, b.problem()
}

// record reads one record, and notes everything that is wrong with it. Values beyond the
// limit, which are refused together, are not read.
func (b *batchReader) record(i int, item strictjson.Value, in *records) {
	before := len(in.fields)
	defer func() { in.sizes = append(in.sizes, len(in.fields)-before) }()
	var fields strictjson.Value
	for key, v := range item.Members() {
		if key.Equal("fields") {
			fields = v
		} else {
			b.supported(i, key, v)
		}
	}
	switch {
	case fields.Kind() == strictjson.Invalid:
		b.refuse(i, "", reasonFieldsMissing, "It has no fields.")
		return
	case fields.Kind() != strictjson.Object:
		b.refuse(i, "fields", reasonType, "The fields must be an object.")
		return
	}
	for key, v := range fields.Members() {
		if len(in.fields) > b.maxItems {
			return
		}
		name := b.string(key)
		value, _ := b.value(i, name, v)
		in.values = append(in.values, value)
		in.fields = append(in.fields, recordField{record: i, name: name})
	}
	if len(in.fields) == before {
		b.refuse(i, "fields", reasonFieldsEmpty, "There must be a field.")
	}
}

// classify is classifyVault with the records and fields that items are made of.
func (in *records) classify(err error) (problem, bool) {
	p, known := classifyVault(err)
	for i := range p.items {
		if d := &p.items[i]; d.Index != nil {
			at := in.fields[*d.Index]
			d.Index, d.Field = &at.record, clipKey(at.name)
		}
	}
	return p, known
}

// answer has the records in their order, and the fields of each.
func (in *records) answer(tokens []string) []byte {
	b := []byte(`{"records":[`)
	next := 0
	for i, n := range in.sizes {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"tokens":`...)
		if in.tokens {
			b = in.appendTokens(b, next, tokens[next:next+n])
		} else {
			b = append(b, "null"...)
		}
		b = append(b, '}')
		next += n
	}
	return append(b, `]}`...)
}

func (in *records) appendTokens(b []byte, first int, tokens []string) []byte {
	b = append(b, '{')
	for i, token := range tokens {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, in.fields[first+i].name), ':')
		b = appendString(b, token)
	}
	return append(b, '}')
}
