package conformance

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Same requires that two values are equal, as reflect.DeepEqual has it. A failure names the
// first field that differs, and shows a piece of both values around the first difference: a
// row may hold mebibytes.
func Same(t *testing.T, want, got any) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%T %s", want, difference("", reflect.ValueOf(want), reflect.ValueOf(got)))
	}
}

// difference names the first exported field below path in which two values differ, and shows
// it. A map is shown as a whole, in the order of its keys.
func difference(path string, want, got reflect.Value) string {
	if !want.IsValid() || !got.IsValid() || want.Type() != got.Type() {
		return leaf(path, want, got)
	}
	differ := func(w, g reflect.Value) bool { return !reflect.DeepEqual(w.Interface(), g.Interface()) }
	switch want.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !want.IsNil() && !got.IsNil() {
			return difference(path, want.Elem(), got.Elem())
		}
	case reflect.Struct:
		for i := range want.NumField() {
			if f := want.Type().Field(i); f.IsExported() && differ(want.Field(i), got.Field(i)) {
				return difference(path+"."+f.Name, want.Field(i), got.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		if want.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		for i := range min(want.Len(), got.Len()) {
			if differ(want.Index(i), got.Index(i)) {
				return difference(fmt.Sprintf("%s[%d]", path, i), want.Index(i), got.Index(i))
			}
		}
	}
	return leaf(path, want, got)
}

// leaf shows two values that differ.
func leaf(path string, want, got reflect.Value) string {
	w, g := text(want), text(got)
	if want.IsValid() && got.IsValid() && want.Type() != got.Type() {
		w, g = want.Type().String()+" "+w, got.Type().String()+" "+g
	}
	from := 0
	for from < min(len(w), len(g)) && w[from] == g[from] {
		from++
	}
	return fmt.Sprintf("differs%s:\nwant %s\ngot  %s", at(path), piece(w, from), piece(g, from))
}

// at says where a path leads. The empty one leads to the whole.
func at(path string) string {
	if path == "" {
		return ""
	}
	return " at " + strings.TrimPrefix(path, ".")
}

// text is a value as a reader sees it: strings and bytes as they are.
func text(v reflect.Value) string {
	switch {
	case !v.IsValid():
		return "nothing"
	case (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.IsNil():
		return "nil"
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return string(v.Bytes())
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Map:
		return fmt.Sprintf("%d items: %v", v.Len(), v)
	}
	return fmt.Sprintf("%+v", v)
}

// piece is a part of a text around a place, and says which part.
func piece(text string, place int) string {
	const before, after = 40, 160
	from, to := max(0, place-before), min(len(text), place+after)
	if from == 0 && to == len(text) {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q, bytes %d to %d of %d", text[from:to], from, to, len(text))
}
