package httpadapter

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// batchReader reads the body of a batch operation and collects what is wrong with it.
//
// A batch is most of what a vault is asked, and its values are most of a batch. So each
// text of the body that has no escapes is a part of one copy of the body: no item costs
// an allocation of its own.
type batchReader struct {
	text     string // the body
	root     strictjson.Value
	maxItems int
	maxValue int          // bytes
	wrong    []itemDetail // at most maxDetails

	upserts bool             // the operation knows the field upsert
	upsert  strictjson.Value // then
}

// readBatch checks that a body is a JSON object.
func (a *vaultAdapter) readBatch(body []byte) (*batchReader, *problem) {
	root, err := strictjson.Parse(body, 0)
	if err != nil {
		offset := jsonOffset(err)
		text := "The body is not valid JSON" + jsonReason(err) + "."
		p := vaultProblem(http.StatusBadRequest, itemDetail{Reason: reasonJSON, Offset: &offset, text: text})
		return nil, &p
	}
	if root.Kind() != strictjson.Object {
		p := vaultProblem(http.StatusBadRequest, itemDetail{Reason: reasonType, text: "The body must be a JSON object."})
		return nil, &p
	}
	return &batchReader{text: string(body), root: root, maxItems: a.service.Limits().Items, maxValue: a.service.Limits().Value}, nil
}

// jsonReason says at which byte a body stops to be JSON that everybody reads alike, and
// why if it is JSON, or its fault cannot be seen.
func jsonReason(err error) string {
	e, ok := err.(*strictjson.Error)
	if !ok {
		return ""
	}
	text := ", at byte " + strconv.Itoa(e.Offset)
	if !e.Syntax || e.Reason == strictjson.ByteOrderMark {
		text += ": " + e.Reason
	}
	return text
}

func (b *batchReader) full() bool { return len(b.wrong) >= maxDetails }

func (b *batchReader) add(d itemDetail) {
	if !b.full() {
		b.wrong = append(b.wrong, d)
	}
}

// refuse notes a problem of an item, or of a field of it.
func (b *batchReader) refuse(index int, field, reason, text string) {
	b.add(itemDetail{Index: &index, Field: field, Reason: reason, text: text})
}

// problem is what is wrong, nil if nothing is.
func (b *batchReader) problem() *problem {
	if len(b.wrong) == 0 {
		return nil
	}
	p := vaultProblem(http.StatusBadRequest, b.wrong...)
	return &p
}

// unsupportedFields are fields of Skyflow's requests and clients that do not exist here, in
// lower case without underscores: without them a request would mean something else. Each
// tells the values that ask for nothing, besides null.
var unsupportedFields = map[string]func(v strictjson.Value) bool{
	"byot":            disabled,
	"tokenmode":       disabled,
	"tokens":          func(v strictjson.Value) bool { return v.Bool() || v.Kind() == strictjson.Object && isEmpty(v) },
	"upsert":          func(v strictjson.Value) bool { return v.Equal("") },
	"continueonerror": func(v strictjson.Value) bool { return v.Kind() == strictjson.Bool && !v.Bool() },
	"returntokens":    func(v strictjson.Value) bool { return v.Bool() },
}

func disabled(v strictjson.Value) bool { return v.Equal("DISABLE") }

// isEmpty reports whether an object has no members.
func isEmpty(v strictjson.Value) bool {
	for range v.Members() {
		return false
	}
	return true
}

// supported notes a field that is one of unsupportedFields, unless its value asks for
// nothing. at is the record that it is in, ofBody for none.
func (b *batchReader) supported(at int, key, v strictjson.Value) {
	name := b.string(key)
	asksNothing := unsupportedFields[strings.ReplaceAll(strings.ToLower(name), "_", "")]
	switch {
	case asksNothing == nil, v.Kind() == strictjson.Null, asksNothing(v):
	case b.upserts && at == ofBody && name == "upsert" && v.Kind() == strictjson.String:
		b.upsert = v
	default:
		b.add(unsupportedField(at, name, "Leave it out."))
	}
}

// ofBody is the index for a field of the body itself.
const ofBody = -1

func unsupportedField(at int, name, advice string) itemDetail {
	d := itemDetail{Field: name, Reason: reasonUnsupported,
		text: "The field " + strconv.Quote(name) + " is not supported, and the request means something else without it. " + advice}
	if at != ofBody {
		d.Index = &at
	}
	return d
}

// list calls read with each item of the list in a field, and returns what is wrong with
// the list. What is wrong with the items, and with the other fields of the body, is noted.
// Items beyond the 100th problem are not read.
func (b *batchReader) list(name string, read func(i int, item strictjson.Value)) *problem {
	refuse := func(reason, text string) *problem {
		p := vaultProblem(http.StatusBadRequest, itemDetail{Field: name, Reason: reason, text: text})
		return &p
	}
	var list strictjson.Value
	for key, v := range b.root.Members() {
		if key.Equal(name) {
			list = v
		} else {
			b.supported(ofBody, key, v)
		}
	}
	switch list.Kind() {
	case strictjson.Array:
	case strictjson.Invalid:
		return refuse(reasonListMissing, "The body must have a list "+name+".")
	default:
		return refuse(reasonType, "The field "+name+" must be a list.")
	}
	n := 0
	for i, item := range list.Elements() {
		if n = i + 1; n > b.maxItems {
			return b.tooLong(name)
		}
		switch {
		case b.full():
		case item.Kind() != strictjson.Object:
			b.refuse(i, "", reasonType, "It must be an object.")
		default:
			read(i, item)
		}
	}
	if n == 0 {
		return refuse(reasonListEmpty, "The list "+name+" must have an item.")
	}
	return nil
}

func (b *batchReader) tooLong(name string) *problem {
	p := vaultProblem(http.StatusBadRequest, itemDetail{Field: name, Reason: reasonListTooLong,
		text: "The list " + name + " has more than " + count(b.maxItems, "value") + ". Send it in parts."})
	return &p
}

// string decodes a string.
func (b *batchReader) string(v strictjson.Value) string {
	raw := v.Raw()
	if bytes.IndexByte(raw, '\\') >= 0 {
		return v.Text()
	}
	return b.text[v.Offset()+1 : v.Offset()+len(raw)-1]
}

// given reads a field of an item, and reports whether it is there. It notes one that is
// no string.
func (b *batchReader) given(index int, field string, v strictjson.Value) (text string, there bool) {
	switch v.Kind() {
	case strictjson.Invalid:
		return "", false
	case strictjson.String:
		return b.string(v), true
	}
	field = clipKey(field)
	b.refuse(index, field, reasonType, "The field "+strconv.Quote(field)+" must be a string.")
	return "", true
}

// value is given for a field that holds a value, which has a limit of its own.
func (b *batchReader) value(index int, field string, v strictjson.Value) (text string, there bool) {
	text, there = b.given(index, field, v)
	if len(text) > b.maxValue {
		field = clipKey(field)
		b.refuse(index, field, reasonValueTooLong, "The field "+strconv.Quote(field)+" has more than "+count(b.maxValue, "byte")+".")
	}
	return text, there
}

// fieldName decodes a key. For one that is written without escapes it allocates nothing
// if the caller only compares it.
func fieldName(key strictjson.Value) []byte {
	raw := key.Raw()
	if bytes.IndexByte(raw, '\\') >= 0 {
		return key.AppendText(nil)
	}
	return raw[1 : len(raw)-1]
}
