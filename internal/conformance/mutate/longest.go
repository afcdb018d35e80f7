package mutate

import (
	"encoding/json"
	"reflect"
	"strings"
)

// nameBytes is how long a name can be.
const nameBytes = 255

// longest has the length in bytes of each text and blob that a store keeps, in the rules about
// the longest ones, by type and path of the field. Strings without an entry have the
// length of a name. 0: the field is a word of a few.
var longest = map[string]map[string]int{
	"trigger.Event": {
		"Status": 0, "Instructions": 1 << 20, "Context": 1 << 20, "LastError": 64 << 10,
		"Failures.Error": 4 << 10, "Outcome.Summary": 64 << 10, "Outcome.Data": 1 << 20,
	},
	"authmgmt.AuditEvent": {"Before.State": 0, "After.State": 0},
	"vault.Vault":         {"Schema.Tables.Columns.Tokenization": 0},
	"vault.Row":           {"Sealed.Ciphertext": 2 << 20, "Fingerprints.Fingerprint": 0}, // keyring.MaxCiphertext
	"vault.AuditEvent":    {"Tokens.Redaction": 0, "Schema.Tables.Columns.Tokenization": 0},
	"audiosearch.Video":   {"Path": 4096},
	"audiosearch.Scoring": {"Problem": 64 << 10},
	"audiosearch.Run": {
		"Query.Filters.Op": 0, "Query.Filters.Value": 4 << 10, "Query.Filters.Key": 4 << 10, "State": 0, "Termination": 0, "Message": 64 << 10,
	},
}

// Stretch makes every string and every blob in t as long as it can be. t has an item in
// each of its lists, and no nil pointer on the way to a text.
func Stretch[T any](t *T) {
	for _, f := range fieldsOf(reflect.TypeFor[T](), nil) {
		n := lengthOf[T](f)
		if n == 0 {
			continue
		}
		item := 0
		f.each(reflect.ValueOf(t).Elem(), func(v reflect.Value) {
			item++
			text := strings.Repeat(string(rune('a'+item%20))+f.path+" ", n/len(f.path)+1)[:n]
			switch {
			case v.Kind() == reflect.String:
				v.SetString(text)
			case v.Type() == reflect.TypeFor[json.RawMessage]():
				v.SetBytes([]byte(`"` + text[2:] + `"`))
			default:
				v.SetBytes([]byte(text))
			}
		})
	}
}

// lengthOf returns how long a field of a T can be; 0 if it is no text.
func lengthOf[T any](f field) int {
	n, known := longest[reflect.TypeFor[T]().String()][f.path]
	switch {
	case known:
		return n
	case f.of.Kind() == reflect.String:
		return nameBytes
	case f.of.Kind() == reflect.Slice && f.of.Elem().Kind() == reflect.Uint8:
		panic("mutate: longest does not say how long " + f.path + " can be")
	}
	return 0
}

// cut takes the last byte off a text that is as long as it can be.
func cut(n int) func(reflect.Value) {
	return func(v reflect.Value) {
		switch {
		case v.Len() != n:
		case v.Kind() == reflect.String:
			v.SetString(v.String()[:n-1])
		default:
			v.SetBytes(v.Bytes()[: n-1 : n-1])
		}
	}
}
