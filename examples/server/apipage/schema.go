package apipage

import (
	"cmp"
	"path"
	"strings"
)

// field is a row of a table.
type field struct {
	Parent, Last string // the name, such as "detail[]." and "loc"
	Required     bool
	Schema       *node
	*node        // a parameter or a header, which have a schema, or a part of one
}

func (f field) Description() *node {
	return cmp.Or(f.At("description"), f.Schema.At("description"))
}

// bounds are the rules that concern one value. The s is for all numbers but 1.
var bounds = map[string]string{
	"minLength": "at least # character(s)", "maxLength": "at most # character(s)",
	"minItems": "at least # item(s)", "maxItems": "at most # item(s)",
	"minProperties": "at least # field(s)", "maxProperties": "at most # field(s)",
	"minimum": "at least #", "maximum": "at most #", "pattern": "matches `#`",
	"const": "always `#`", "default": "default `#`",
}

// boundsOf lists the rules of a schema in words.
func boundsOf(v *node) (rules []string) {
	if target := v.target(); target != nil {
		rules = boundsOf(target)
	}
	for key, value := range v.Each() {
		text, plural := value.json, "s"
		if key == "pattern" {
			text = value.text
		}
		if text == "1" {
			plural = ""
		}
		if form := bounds[key]; form != "" {
			rules = append(rules, strings.NewReplacer("#", text, "(s)", plural).Replace(form))
		}
	}
	return rules
}

// rulesOf are the bounds, and whether an object takes other fields than those it names.
func rulesOf(v *node) []string {
	rules := boundsOf(v)
	switch more := v.At("additionalProperties"); {
	case more == nil:
	case more.text == "false":
		rules = append(rules, "no other fields")
	case more.keys != nil:
		rules = append(rules, "any keys")
	case v.At("properties") == nil:
		rules = append(rules, "any keys, any values")
	}
	// What holds for the items of a list of scalars stands in the list's row: they have none.
	for item := v.At("items"); item != nil; item = item.At("items") {
		for _, rule := range boundsOf(item) {
			rules = append(rules, "each: "+rule)
		}
	}
	return rules
}

// enumOf lists the values that there are, of a schema or of its items.
func enumOf(v *node) (values []string) {
	for ; v != nil && values == nil; v = v.At("items") {
		for _, value := range v.At("enum").Each() {
			values = append(values, value.json)
		}
	}
	return values
}

// typeOf names the types of a schema, such as "string (uuid) or null".
func typeOf(v *node) string {
	var names []string
	types := v.At("type")
	if types == nil {
		for _, alternative := range v.At("anyOf").Each() {
			names = append(names, typeOf(alternative))
		}
		return cmp.Or(strings.Join(names, " or "), "any")
	}
	list := types.list
	if list == nil {
		list = []*node{types}
	}
	for _, t := range list {
		name := t.text
		switch format, items := v.At("format"), v.At("items"); {
		case name == "array" && items != nil:
			inner := typeOf(items)
			if strings.Contains(inner, " or ") {
				inner = "(" + inner + ")"
			}
			name = "array of " + inner
		case format != nil && name != "null":
			name += " (" + format.text + ")"
		}
		names = append(names, name)
	}
	return strings.Join(names, " or ")
}

// Rows are the rows of parameters, which have their names in them, or of headers.
func (n *node) Rows() (list []field) {
	for name, v := range n.Each() {
		list = append(list, field{"", cmp.Or(v.At("name").String(), name), v.At("required").String() == "true", v.At("schema"), v})
	}
	return list
}

// fieldsOf lists what is within a value, and within that, under names such as
// "detail[].loc".
func fieldsOf(prefix string, v *node) (list []field) {
	if v == nil {
		return nil
	}
	parent := prefix
	if parent != "" {
		parent += "."
	}
	add := func(name string, v *node, required bool) {
		list = append(list, field{parent, name, required, v, v})
		list = append(list, fieldsOf(parent+name, v)...)
	}
	required := make(map[string]bool)
	for _, name := range v.At("required").Each() {
		required[name.text] = true
	}
	for name, property := range v.At("properties").Each() {
		add(name, property, required[name])
	}
	list = append(list, fieldsOf(prefix+"[]", v.At("items"))...)
	if more := v.At("additionalProperties"); more != nil && more.list != nil {
		add("*", more, false)
	}
	return list
}

// nameOf is the name of the schema that is referred to, "" if it stands here.
func nameOf(v *node) string {
	if v.target() == nil {
		return ""
	}
	return path.Base(v.At("$ref").text)
}
