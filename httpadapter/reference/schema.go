package reference

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

// flat is a schema with its references followed and its allOf merged.
type flat struct {
	name        string // of the component that was referred to, "" for none
	types       []string
	format      string
	description string
	deprecated  bool
	properties  []property
	required    map[string]bool
	items       strictjson.Value // zero: not given
	values      strictjson.Value // of additional properties; zero: not given
	open        bool             // additional properties are said to be anything
	closed      bool             // additional properties are refused
	variants    []strictjson.Value
	title       string
	enum        []strictjson.Value
	constant    strictjson.Value // zero: not given
	bounds      []string
}

type property struct {
	name   string
	schema strictjson.Value
}

// maxSchemaDepth bounds the depth of schemas within schemas, which a circle through allOf would make endless.
const maxSchemaDepth = 60

func (d *document) flatten(v strictjson.Value) *flat {
	s := &flat{required: make(map[string]bool)}
	d.mergeInto(s, v, 0)
	if s.types == nil {
		s.types = s.impliedTypes()
	}
	return s
}

func (d *document) mergeInto(s *flat, v strictjson.Value, depth int) {
	if d.err != nil {
		return // a circle would be walked along all its ways
	}
	if depth > maxSchemaDepth {
		d.fail("a schema contains itself")
		return
	}
	if has(v, "$ref") {
		target, name := d.resolve(v)
		d.mergeInto(s, target, depth+1)
		s.name = name
	}
	for _, part := range at(v, "allOf").Elements() {
		d.mergeInto(s, part, depth+1)
	}
	for key, value := range v.Members() {
		switch key.Text() {
		case "type":
			s.types = texts(value)
		case "title":
			s.title = value.Text()
		case "format":
			s.format = value.Text()
		case "description":
			s.description = value.Text()
		case "deprecated":
			s.deprecated = value.Bool()
		case "properties":
			for name, schema := range value.Members() {
				s.properties = append(s.properties, property{name.Text(), schema})
			}
		case "required":
			for _, name := range value.Elements() {
				s.required[name.Text()] = true
			}
		case "items":
			s.items = value
		case "additionalProperties":
			s.closed = value.Kind() == strictjson.Bool && !value.Bool()
			s.open = value.Bool() || value.Kind() == strictjson.Object && string(value.Raw()) == "{}"
			if value.Kind() == strictjson.Object && !s.open {
				s.values = value
			}
		case "anyOf", "oneOf":
			for _, variant := range value.Elements() {
				s.variants = append(s.variants, variant)
			}
		case "enum":
			s.enum = nil
			for _, one := range value.Elements() {
				s.enum = append(s.enum, one)
			}
		default:
			if key.Equal("const") {
				s.constant = value
			}
			if text := bound(key.Text(), value); text != "" {
				s.bounds = append(s.bounds, text)
			}
		}
	}
}

// texts reads a string or a list of strings.
func texts(v strictjson.Value) []string {
	if v.Kind() == strictjson.String {
		return []string{v.Text()}
	}
	var list []string
	for _, item := range v.Elements() {
		list = append(list, item.Text())
	}
	return list
}

// impliedTypes guesses the type of a schema that names none.
func (s *flat) impliedTypes() []string {
	var types []string
	switch {
	case s.properties != nil, s.values.Kind() != strictjson.Invalid, s.open, s.closed:
		return []string{"object"}
	case s.items.Kind() != strictjson.Invalid:
		return []string{"array"}
	}
	names := map[strictjson.Kind]string{strictjson.String: "string", strictjson.Number: "number", strictjson.Bool: "boolean", strictjson.Null: "null"}
	for _, value := range append(slices.Clip(s.enum), s.constant) {
		if name := names[value.Kind()]; name != "" && !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	return types
}

// bound is a rule that concerns one value, in words; "" for a keyword that is none.
func bound(key string, v strictjson.Value) string {
	text := plain(v)
	switch key {
	case "minLength":
		return "at least " + plural(text, "character")
	case "maxLength":
		return "at most " + plural(text, "character")
	case "minimum":
		return "at least " + text
	case "maximum":
		return "at most " + text
	case "exclusiveMinimum":
		return "more than " + text
	case "exclusiveMaximum":
		return "less than " + text
	case "multipleOf":
		return "a multiple of " + text
	case "minItems":
		return "at least " + plural(text, "item")
	case "maxItems":
		return "at most " + plural(text, "item")
	case "minProperties":
		return "at least " + plural(text, "field")
	case "maxProperties":
		return "at most " + plural(text, "field")
	case "uniqueItems":
		if v.Bool() {
			return "no item twice"
		}
	case "pattern":
		return "matches `" + text + "`"
	case "const":
		return "always `" + oneLine(v) + "`"
	case "default":
		return "default `" + oneLine(v) + "`"
	case "readOnly":
		if v.Bool() {
			return "only in responses"
		}
	case "writeOnly":
		if v.Bool() {
			return "only in requests"
		}
	}
	return ""
}

func plural(number, what string) string {
	if number == "1" {
		return number + " " + what
	}
	return number + " " + what + "s"
}

const (
	ruleOpen   = "any keys, any values"
	ruleClosed = "no other fields"
)

func (s *flat) rules() []string {
	rules := slices.Clone(s.bounds)
	switch {
	case s.open && s.properties == nil:
		rules = append(rules, ruleOpen)
	case s.closed:
		rules = append(rules, ruleClosed)
	case s.values.Kind() != strictjson.Invalid:
		rules = append(rules, "any keys")
	}
	return rules
}

// typeText names the type of a schema: "string (uuid) or null", "array of object".
func (d *document) typeText(v strictjson.Value) string {
	return strings.Join(d.typeNames(v, 0), " or ")
}

func (d *document) typeNames(v strictjson.Value, depth int) []string {
	if depth > maxSchemaDepth {
		d.fail("a schema contains itself")
	}
	if d.err != nil {
		return nil
	}
	s := d.flatten(v)
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range s.types {
		switch {
		case name == "array" && s.items.Kind() != strictjson.Invalid:
			inner := d.typeNames(s.items, depth+1)
			of := strings.Join(inner, " or ")
			if len(inner) > 1 {
				of = "(" + of + ")"
			}
			add("array of " + of)
		case name == "string" && s.format != "":
			add("string (" + s.format + ")")
		case name == "integer" && s.format != "", name == "number" && s.format != "":
			add(name + " (" + s.format + ")")
		default:
			add(name)
		}
	}
	if s.types == nil {
		for _, variant := range s.variants {
			for _, name := range d.typeNames(variant, depth+1) {
				add(name)
			}
		}
	}
	if names == nil {
		return []string{"any"}
	}
	return names
}

// field describes one value, without what is within it.
func (d *document) field(name string, v strictjson.Value, required bool) field {
	s := d.flatten(v)
	// What holds for the items of a list of scalars stands in the list's row: they have no row of their own.
	for items, depth := s.items, 0; items.Kind() != strictjson.Invalid && depth < maxSchemaDepth; depth++ {
		item := d.flatten(items)
		if s.enum == nil {
			s.enum = item.enum
		}
		for _, rule := range item.bounds {
			s.bounds = append(s.bounds, "each: "+rule)
		}
		items = item.items
	}
	f := field{
		Name: name, Type: d.typeText(v), Required: required, Description: prose(s.description), Deprecated: s.deprecated,
	}
	for _, rule := range s.rules() {
		f.Rules = append(f.Rules, rawHTML(inline(rule)))
	}
	for _, value := range s.enum {
		f.Enum = append(f.Enum, oneLine(value))
	}
	return f
}

// fields lists what is within a value, and within that, under names like "detail[].loc".
func (d *document) fields(prefix string, v strictjson.Value) []field { return d.within(prefix, v, nil) }

// within does so; the names are of the components that are being listed, further out.
func (d *document) within(prefix string, v strictjson.Value, names []string) []field {
	s := d.flatten(v)
	if s.name != "" {
		if slices.Contains(names, s.name) {
			return []field{{Heading: "The fields of " + prefixOr(prefix, "this value") + " are those of " + s.name + ", as above."}}
		}
		names = append(slices.Clone(names), s.name)
	}
	if d.fieldsLeft--; d.fieldsLeft < 0 {
		d.fail("the document has too many fields")
	}
	if d.err != nil {
		return nil
	}
	var list []field
	dot := prefix
	if dot != "" {
		dot += "."
	}
	for _, p := range s.properties {
		list = append(list, d.field(dot+p.name, p.schema, s.required[p.name]))
		list = append(list, d.within(dot+p.name, p.schema, names)...)
	}
	if s.items.Kind() != strictjson.Invalid {
		list = append(list, d.within(prefix+"[]", s.items, names)...)
	}
	if s.values.Kind() != strictjson.Invalid {
		list = append(list, d.field(dot+"*", s.values, false))
		list = append(list, d.within(dot+"*", s.values, names)...)
	}
	return append(list, d.variantFields(prefix, s.variants, names)...)
}

// variantFields lists the fields of each form that a value can have, under a heading if there are several.
func (d *document) variantFields(prefix string, variants []strictjson.Value, names []string) []field {
	var forms [][]field
	var titles []string
	for _, variant := range variants {
		if list := d.within(prefix, variant, names); list != nil {
			s := d.flatten(variant)
			forms, titles = append(forms, list), append(titles, cmp.Or(s.title, s.name))
		}
	}
	var list []field
	for i, form := range forms {
		if len(forms) > 1 {
			list = append(list, field{Heading: formHeading(prefix, titles[i], i, len(forms))})
		}
		list = append(list, form...)
	}
	return list
}
