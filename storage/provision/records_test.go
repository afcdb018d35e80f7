package provision

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/vault"
)

// TestBatches: no record is cut, and no batch has more fields than a call takes.
func TestBatches(t *testing.T) {
	const count = 1205
	var records []string
	for i := range count {
		fields := fmt.Sprintf(`"email":"%d"`, i)
		if i%3 == 0 {
			fields += fmt.Sprintf(`,"card":"%d","phone":"%d"`, 1_000_000+i, i)
		}
		records = append(records, record(fields))
	}
	text := vaultWith(allColumns, strings.Join(records, ","))
	doc, err := readText(t, text)
	if err != nil {
		t.Fatal(err)
	}
	all := doc.contents.Organizations[0].Vaults[0].Records
	for _, most := range []int{5, 10, 1000} { // five fields in a row of three records
		var left []recordDoc
		for _, batch := range batches(all, most) {
			fields := 0
			for _, r := range batch {
				fields += len(r.Fields)
			}
			if fields != most && len(left)+len(batch) < count {
				t.Errorf("a batch of %d fields, and %d are the most", fields, most)
			}
			left = append(left, batch...)
		}
		if !reflect.DeepEqual(left, all) {
			t.Error("the batches are not the records")
		}
	}
}

// TestPlacesOfADocument: lines end at LF, and columns count bytes, both from 1.
func TestPlacesOfADocument(t *testing.T) {
	d := &Document{data: []byte("{\n\n \"ä\": 1,\r\n\"b\":\n2}\n")}
	line, column := 1, 1
	for offset, c := range d.data {
		if want := fmt.Sprintf("line %d, column %d", line, column); d.position(offset) != want {
			t.Errorf("byte %d: %s, want %s", offset, d.position(offset), want)
		}
		if column++; c == '\n' {
			line, column = line+1, 1
		}
	}
}

// TestRecordsAreApart: the same record of another vault or organization, or
// with its parts cut otherwise, is another one.
func TestRecordsAreApart(t *testing.T) {
	fields := func(pairs ...string) map[string]fieldDoc {
		all := make(map[string]fieldDoc)
		for pair := range slices.Chunk(pairs, 2) {
			all[pair[0]] = fieldDoc{Value: vault.NewValue(pair[1])}
		}
		return all
	}
	seen := make(map[string]bool)
	records := []struct {
		org, id string
		record  recordDoc
	}{
		{"acme", "v1", recordDoc{Table: "t", Fields: fields("a", "b")}},
		{"acme", "v2", recordDoc{Table: "t", Fields: fields("a", "b")}},
		{"other", "v1", recordDoc{Table: "t", Fields: fields("a", "b")}},
		{"acme", "v1", recordDoc{Table: "u", Fields: fields("a", "b")}},
		{"acme", "v1", recordDoc{Table: "t", Fields: fields("a", "c")}},
		{"acme", "v1", recordDoc{Table: "t", Fields: fields("a", "b", "c", "d")}},
		{"acme", "v1", recordDoc{Table: "t", Fields: fields("a", `b","c","d`)}},
	}
	for _, r := range records {
		seen[digests(r.org, r.id, []recordDoc{r.record})[0].Value.Reveal()] = true
	}
	if len(seen) != len(records) {
		t.Errorf("%d digests of %d records", len(seen), len(records))
	}
	turned := recordDoc{Table: "t", Fields: fields("c", "d", "a", "b")}
	if !seen[digests("acme", "v1", []recordDoc{turned})[0].Value.Reveal()] {
		t.Error("the order of the fields makes another record")
	}
}

// TestRehearsal: what is right is applied in a rehearsal without a word, and changes
// nothing.
func TestRehearsal(t *testing.T) {
	doc := documentOfContract(t)
	before := fmt.Sprintf("%+v", doc.contents)
	if err := doc.Rehearse(t.Context(), empty); err != nil || fmt.Sprintf("%+v", doc.contents) != before {
		t.Errorf("%v; from %s to %+v", err, before, doc.contents)
	}
}
