package strictjson

import (
	"bytes"
	"fmt"
)

// Error says where a document is refused and why.
//
// A document that is malformed anywhere is reported as malformed; only a
// well-formed one is refused for a repeated key or a lone surrogate, the first
// of them. Two checks do not wait for the end: nesting is refused where it goes
// too deep, and a document of 1<<31 bytes or more before it is read.
type Error struct {
	// Offset is in bytes from the start of the document, 0 to its length.
	Offset int
	// Reason is one of a few fixed texts. It never holds the content.
	Reason string
	// Syntax is true if the document is malformed by RFC 8259, bad UTF-8
	// included; false if only this package refuses it: duplicate key, lone
	// surrogate, nested too deeply, too long.
	Syntax bool
}

// Error gives the reason and the offset, never the document's content.
func (e *Error) Error() string {
	return fmt.Sprintf("strictjson: %s at byte %d", e.Reason, e.Offset)
}

const (
	reasonValue        = "expecting value"
	reasonName         = "expecting property name"
	reasonColon        = "expecting colon"
	reasonComma        = "expecting comma or closing bracket"
	reasonExtra        = "extra data"
	reasonUnterminated = "unterminated string"
	reasonControl      = "control character in string"
	reasonEscape       = "invalid escape"
	reasonUnicode      = `invalid \u escape`
	reasonUTF8         = "invalid UTF-8"
	reasonDuplicate    = "duplicate key"
	reasonSurrogate    = "lone surrogate"
	reasonDeep         = "nested too deeply"
	reasonLong         = "document too long"
)

// ByteOrderMark is the reason of a document that begins with U+FEFF, which no editor shows.
const ByteOrderMark = "byte order mark"

// LineColumn turns a byte offset into a line and a column for a human reader.
// Both count from 1. Lines end at LF; the column is in bytes. An offset outside
// data counts as the nearest one inside.
func LineColumn(data []byte, offset int) (line, column int) {
	before := data[:min(max(offset, 0), len(data))]
	line = 1 + bytes.Count(before, []byte{'\n'})
	column = len(before) - bytes.LastIndexByte(before, '\n')
	return line, column
}
