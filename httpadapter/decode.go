package httpadapter

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// decoder reads one JSON body and collects everything that is wrong with it. A service
// asks for its fields in the order in which its document declares them; that is the order
// of the problems. Types are as in pydantic's strict mode: no text is taken for a number,
// no 1 for true, no 40.0 for an integer.
type decoder struct {
	details []detail
}

func (d *decoder) add(loc []any, typ, msg string) {
	if len(d.details) < maxDetails {
		d.details = append(d.details, detail{Loc: loc, Msg: msg, Type: typ})
	}
}

func (d *decoder) full() bool { return len(d.details) >= maxDetails }

// presence says what may stand for a field.
type presence uint8

const (
	required presence = iota // there, and not null
	optional                 // there or not, but not null
	nullable                 // there or not, or null, which is as if it were not there
)

// body reads the root, which must be an object. It returns false if there is nothing to
// ask for fields.
func (d *decoder) body(data []byte) (object, bool) {
	root := &path{key: "body"}
	if len(data) == 0 {
		d.add(root.loc(), "missing", msgMissing)
		return object{}, false
	}
	v, err := strictjson.Parse(data, 0)
	if err != nil {
		d.details = d.details[:0] // as in FastAPI, which looks at nothing else before it has a document
		d.add(root.loc(jsonOffset(err)), "json_invalid", jsonMessage(err))
		return object{}, false
	}
	switch v.Kind() {
	case strictjson.Object:
		return object{d: d, v: v, at: root}, true
	case strictjson.Null:
		d.add(root.loc(), "missing", msgMissing)
	default:
		d.add(root.loc(), "model_attributes_type", msgObject)
	}
	return object{}, false
}

// optionalBody is body for one that may be left out, or null.
func (d *decoder) optionalBody(data []byte) (object, bool) {
	before := len(d.details)
	o, ok := d.body(data)
	if len(d.details) > before && d.details[before].Type == "missing" {
		d.details = d.details[:before]
	}
	return o, ok
}

func jsonOffset(err error) int {
	if e, ok := err.(*strictjson.Error); ok {
		return e.Offset
	}
	return 0
}

// jsonMessage is FastAPI's for a document that is not JSON. What Python's parser would
// let through, and this one does not, is named, and so is a mark that no editor shows.
func jsonMessage(err error) string {
	if e, ok := err.(*strictjson.Error); ok && (!e.Syntax || e.Reason == strictjson.ByteOrderMark) {
		return msgJSON + ": " + e.Reason
	}
	return msgJSON
}

// object is a JSON object whose fields are asked for by name.
type object struct {
	d  *decoder
	v  strictjson.Value
	at *path
}

// field finds a field. ok is false if there is no value to look at; what is wrong with
// that has been noted.
func (o *object) field(name string, p presence) (v strictjson.Value, ok bool) {
	v, found := o.v.Get(name)
	switch {
	case !found && p == required:
		o.refuse(name, "missing", msgMissing)
		return v, false
	case !found, p == nullable && v.Kind() == strictjson.Null:
		return v, false
	}
	return v, true
}

func (o *object) refuse(name, typ, msg string) { o.d.add(o.at.loc(name), typ, msg) }

// refuseValue notes that a field has the right type and a value that will not do.
func (o *object) refuseValue(name, wrong string) { o.refuse(name, "value_error", msgValue+wrong) }

func isNull(v strictjson.Value) bool { return v.Kind() == strictjson.Null }

// textRule bounds a string, in code points. Zero means no bound.
type textRule struct{ min, max int }

// text returns a string field, and whether it was there and valid.
func (o *object) text(name string, p presence, rule textRule) (string, bool) {
	v, ok := o.field(name, p)
	if !ok {
		return "", false
	}
	if v.Kind() != strictjson.String {
		o.refuse(name, "string_type", msgString)
		return "", false
	}
	length := -1
	if rule.min > 1 || rule.max > 0 {
		length = v.TextLen()
	}
	switch {
	case rule.min == 1 && len(v.Raw()) == len(`""`), length >= 0 && length < rule.min:
		o.refuse(name, "string_too_short", tooShort(rule.min))
	case rule.max > 0 && length > rule.max:
		o.refuse(name, "string_too_long", tooLong(rule.max))
	default:
		return v.Text(), true
	}
	return "", false
}

// rawObject returns an object field as written, and whether it was there and valid. It
// aliases the body.
func (o *object) rawObject(name string, p presence) (json.RawMessage, bool) {
	v, ok := o.field(name, p)
	if !ok {
		return nil, false
	}
	if v.Kind() != strictjson.Object {
		o.refuse(name, "dict_type", msgDictionary)
		return nil, false
	}
	return v.Raw(), true
}

// uuid returns a UUID field, and whether it was there and valid.
func (o *object) uuid(name string, p presence) (uuid.UUID, bool) {
	v, ok := o.field(name, p)
	if !ok {
		return uuid.Nil, false
	}
	if v.Kind() != strictjson.String {
		o.refuse(name, "uuid_type", msgUUIDType)
		return uuid.Nil, false
	}
	text := v.Text()
	if msg := uuidProblem(text); msg != "" {
		o.refuse(name, "uuid_parsing", clipKey(msg))
		return uuid.Nil, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// enum returns a string field that is one of values, fallback if it is not there, and
// whether it was there and valid.
func (o *object) enum(name string, p presence, fallback string, values []string) (string, bool) {
	v, ok := o.field(name, p)
	if !ok {
		return fallback, false
	}
	for _, value := range values {
		if v.Equal(value) {
			return value, true
		}
	}
	o.refuse(name, "enum", oneOf(values))
	return fallback, false
}

// integer returns an integer field within bounds, fallback if it is not there, and
// whether it was there and valid. If most is math.MaxInt64, it is no bound: a number
// beyond it reads as it.
func (o *object) integer(name string, p presence, fallback, least, most int64) (int64, bool) {
	v, ok := o.field(name, p)
	if !ok {
		return fallback, false
	}
	if !v.IsInteger() {
		o.refuse(name, "int_type", msgInteger)
		return fallback, false
	}
	n, inRange := v.Int64()
	negative := v.Raw()[0] == '-'
	switch {
	case inRange && n < least, !inRange && negative:
		o.refuse(name, "greater_than_equal", atLeast(least))
	case !inRange && most == math.MaxInt64:
		return most, true
	case inRange && n > most, !inRange:
		o.refuse(name, "less_than_equal", atMost(most))
	default:
		return n, true
	}
	return fallback, false
}

// number returns a number field within bounds, fallback if it is not there, and whether it was
// there and valid.
func (o *object) number(name string, p presence, fallback float64, least, most int64) (float64, bool) {
	v, ok := o.field(name, p)
	if !ok {
		return fallback, false
	}
	if v.Kind() != strictjson.Number {
		o.refuse(name, "float_type", msgNumber)
		return fallback, false
	}
	// A number too large for a float64 is an infinity of its sign.
	x, _ := strconv.ParseFloat(string(v.Raw()), 64)
	switch {
	case x < float64(least):
		o.refuse(name, "greater_than_equal", atLeast(least))
	case x > float64(most):
		o.refuse(name, "less_than_equal", atMost(most))
	default:
		return x, true
	}
	return fallback, false
}

// boolean returns a boolean field, fallback if it is not there, and whether it was there
// and valid.
func (o *object) boolean(name string, p presence, fallback bool) (value, ok bool) {
	v, ok := o.field(name, p)
	if !ok {
		return fallback, false
	}
	if v.Kind() != strictjson.Bool {
		o.refuse(name, "bool_type", msgBoolean)
		return fallback, false
	}
	return v.Bool(), true
}

// child calls read with an object field, if it is there and an object, and reports that.
func (o *object) child(name string, p presence, read func(*object)) bool {
	v, ok := o.field(name, p)
	if !ok {
		return false
	}
	if v.Kind() != strictjson.Object {
		o.refuse(name, "model_attributes_type", msgObject)
		return false
	}
	read(&object{d: o.d, v: v, at: &path{parent: o.at, key: name}})
	return true
}

// listRule bounds a list, in items. Zero means no bound.
type listRule struct{ min, max int }

// list calls read with each item of a list of objects, and reports whether the list was
// there and within its bounds.
func (o *object) list(name string, p presence, rule listRule, read func(i int, item *object)) bool {
	v, ok := o.field(name, p)
	if !ok {
		return false
	}
	if v.Kind() != strictjson.Array {
		o.refuse(name, "list_type", msgList)
		return false
	}
	n := 0
	for range v.Elements() {
		n++
	}
	switch {
	case n < rule.min:
		o.refuse(name, "too_short", tooFewItems(rule.min, n))
		return false
	case rule.max > 0 && n > rule.max:
		o.refuse(name, "too_long", tooManyItems(rule.max, n))
		return false
	}
	at := &path{parent: o.at, key: name}
	for i, item := range v.Elements() {
		if o.d.full() {
			break
		}
		place := &path{parent: at, index: i, isItem: true}
		if item.Kind() != strictjson.Object {
			o.d.add(place.loc(), "model_attributes_type", msgObject)
			continue
		}
		read(i, &object{d: o.d, v: item, at: place})
	}
	return true
}

// only refuses every field but the named ones, in the order of the input. It is called
// last, as pydantic reports these last.
func (o *object) only(names ...string) {
	for key := range o.v.Members() {
		if o.d.full() {
			return
		}
		if !named(key, names) {
			o.refuse(clipKey(key.Text()), "extra_forbidden", msgExtra)
		}
	}
}

func named(key strictjson.Value, names []string) bool {
	for _, name := range names {
		if key.Equal(name) {
			return true
		}
	}
	return false
}
