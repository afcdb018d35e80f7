package apipage

import (
	"cmp"
	"fmt"
	"html/template"
	"path"
	"slices"
	"strings"
)

// field is a row of a table. One with a heading has nothing else.
type field struct {
	Heading      string
	Parent, Last string // the name, such as "detail[]." and "loc"
	In           string // of a parameter: path, query or header
	Type         string
	Required     bool
	Rules        []template.HTML
	Enum         []string
	Example      string // of a parameter
	Description  template.HTML
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
	return rules
}

// typesOf names the types of a schema, such as "string (uuid)" and "null".
func typesOf(v *node, depth int) (names []string) {
	if depth > maxReferences {
		return nil
	}
	types := v.At("type")
	if types == nil {
		for _, variant := range variantsOf(v) {
			names = append(names, typesOf(variant, depth+1)...)
		}
		return names
	}
	list := types.list
	if list == nil {
		list = []*node{types}
	}
	for _, t := range list {
		name := t.String()
		switch format, items := v.At("format"), v.At("items"); {
		case name == "array" && items != nil:
			inner := strings.Join(typesOf(items, depth+1), " or ")
			if strings.Contains(inner, " or ") {
				inner = "(" + inner + ")"
			}
			name = "array of " + inner
		case format != nil && name != "null":
			name += " (" + format.text + ")"
		}
		names = append(names, name)
	}
	return names
}

// typeOf is typesOf in words.
func typeOf(v *node) string {
	var once []string
	for _, name := range typesOf(v, 0) {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return cmp.Or(strings.Join(once, " or "), "any")
}

// variantsOf lists the forms that a value can have.
func variantsOf(v *node) (list []*node) {
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, form := range v.At(key).Each() {
			list = append(list, form)
		}
	}
	return list
}

// fieldOf describes one value, without what is within it.
func fieldOf(name string, v *node, required bool) field {
	f := field{Last: name, Type: typeOf(v), Required: required, Description: prose(v.At("description"))}
	enum, rules := v.At("enum"), rulesOf(v)
	// What holds for the items of a list of scalars stands in the list's row: they have none.
	for item, depth := v.At("items"), 0; item != nil && depth < maxReferences; item, depth = item.At("items"), depth+1 {
		enum = cmp.Or(enum, item.At("enum"))
		for _, rule := range boundsOf(item) {
			rules = append(rules, "each: "+rule)
		}
	}
	for _, rule := range rules {
		f.Rules = append(f.Rules, inline(rule))
	}
	for _, value := range enum.Each() {
		f.Enum = append(f.Enum, value.json)
	}
	return f
}

// headOf is a row of a parameter or a header.
func headOf(name string, v *node) field {
	f := fieldOf(name, v.At("schema"), v.At("required").String() == "true")
	f.Description = cmp.Or(prose(v.At("description")), f.Description)
	f.In = v.At("in").String()
	return f
}

// fieldsOf lists what is within a value, and within that, under names such as
// "detail[].loc". The outer names are those of the schemas that are being listed.
func fieldsOf(prefix string, v *node, outer ...string) (list []field) {
	if name := nameOf(v); slices.Contains(outer, name) {
		where := cmp.Or(prefix, "this value")
		return []field{{Heading: "The fields of " + where + " are those of " + name + ", as above."}}
	} else if name != "" {
		outer = append(slices.Clone(outer), name)
	}
	parent := prefix
	if parent != "" {
		parent += "."
	}
	add := func(name string, v *node, required bool) {
		f := fieldOf(name, v, required)
		f.Parent = parent
		list = append(append(list, f), fieldsOf(parent+name, v, outer...)...)
	}
	required := make(map[string]bool)
	for _, name := range v.At("required").Each() {
		required[name.text] = true
	}
	for name, property := range v.At("properties").Each() {
		add(name, property, required[name])
	}
	if items := v.At("items"); items != nil {
		list = append(list, fieldsOf(prefix+"[]", items, outer...)...)
	}
	if more := v.At("additionalProperties"); more != nil && more.list != nil {
		add("*", more, false)
	}
	return append(list, formsOf(prefix, variantsOf(v), outer)...)
}

// formsOf lists the fields of each form of a value, under a heading if there are several.
func formsOf(prefix string, variants []*node, outer []string) (list []field) {
	var forms [][]field
	var titles []string
	for _, v := range variants {
		if fields := fieldsOf(prefix, v, outer...); fields != nil {
			forms = append(forms, fields)
			titles = append(titles, cmp.Or(v.At("title").String(), nameOf(v)))
		}
	}
	for i, fields := range forms {
		if len(forms) > 1 {
			heading := fmt.Sprintf("Form %d of %d of %s: %s", i+1, len(forms), cmp.Or(prefix, "the body"), titles[i])
			list = append(list, field{Heading: strings.TrimSuffix(heading, ": ")})
		}
		list = append(list, fields...)
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
