package httpadapter

import (
	"net/http"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// tokenize serves the one operation of the document.
func (a *vaultAdapter) tokenize(c *call) response {
	items, wrong := a.readItems(c.body)
	if failed := a.checked(c, wrong); failed != nil {
		return *failed
	}
	tokens, err := a.service.Tokenize(c.r.Context(), c.principal.Organization, c.vaultID(), items)
	if err != nil {
		return a.h.fail(c, err)
	}
	return response{status: http.StatusOK, body: tokenRecords(tokens)}
}

// readItems reads a body of tokenization parameters.
func (a *vaultAdapter) readItems(body []byte) ([]vault.Item, *problem) {
	b, wrong := a.readBatch(body)
	if wrong != nil {
		return nil, wrong
	}
	const smallest = len(`{"value":"","columnGroup":"g"},`)
	size := min(b.maxItems, len(body)/smallest+1)
	items, values := make([]vault.Item, 0, size), make([]string, 0, size)
	if wrong = b.list("tokenizationParameters", func(i int, item strictjson.Value) {
		it, value := b.item(i, item)
		items, values = append(items, it), append(values, value)
	}); wrong != nil {
		return nil, wrong
	}
	for i, v := range keyring.Values(values) {
		items[i].Value = v
	}
	return items, b.problem()
}

// item reads one item, but for its Value, and notes everything that is wrong with it. A
// field that is there counts as given, whatever is in it.
func (b *batchReader) item(i int, item strictjson.Value) (it vault.Item, value string) {
	var values, tables, columns, groups strictjson.Value
	for key, v := range item.Members() {
		switch string(fieldName(key)) {
		case "value":
			values = v
		case "table":
			tables = v
		case "column":
			columns = v
		case "columnGroup":
			groups = v
		}
	}
	value, there := b.value(i, "value", values)
	if !there {
		b.refuse(i, "", reasonValueMissing, "It has no value.")
	}
	table, hasTable := b.given(i, "table", tables)
	column, hasColumn := b.given(i, "column", columns)
	group, hasGroup := b.given(i, "columnGroup", groups)
	switch {
	case hasGroup && (hasTable || hasColumn):
		b.refuse(i, "", reasonTwoPlaces, "Give either columnGroup, or table and column, not both.")
	case hasGroup:
		it.Place = vault.InGroup(group)
	case hasTable && hasColumn:
		it.Place = vault.InColumn(table, column)
	case hasTable || hasColumn:
		b.refuse(i, "", reasonHalfPlace, "Give both table and column, or columnGroup in their place.")
	default:
		b.refuse(i, "", reasonNoPlace, "Give either columnGroup, or table and column.")
	}
	return it, value
}
