package engine

import "github.com/seed-6363c74e/mortise/internal/tables"

// dialect is how PostgreSQL writes the views.
var dialect = tables.Dialect{
	As: map[tables.Kind]string{tables.Free: asText, tables.JSON: asJSON},
}

const (
	// asText reads UTF-8 without its zero bytes, which no text of PostgreSQL's may have: it
	// replaces their escapes, once the doubled backslashes are out of the way.
	asText = `convert_from(CASE WHEN position('\x00'::bytea IN {}) = 0 THEN {} ELSE decode(replace(replace(replace(` +
		`encode({}, 'escape'), '\\', '\x'), '\000', '\357\277\275'), '\x', '\\'), 'escape') END, 'UTF8')`

	// asJSON has no escape of which PostgreSQL could make no text: of U+0000, or of half of a
	// surrogate pair. Doubled backslashes stand aside as U+0001, which JSON has as an escape only.
	asJSON = `(CASE WHEN {} ~ '\\u(0000|[dD][89a-fA-F])' THEN replace(regexp_replace(regexp_replace(replace(replace({},` +
		` '\\', chr(1)), '\u0000', '\ufffd'),` +
		` '\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])', '\\ufffd', 'g'),` +
		` '(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}', '\\ufffd', 'g'),` +
		` chr(1), '\\') ELSE {} END)::json`
)
