// Package strictjson checks a JSON document and gives a lazy view on it.
//
// Accepted is exactly the grammar of RFC 8259: one value, with optional space,
// tab, CR and LF around it, in valid UTF-8 (RFC 3629), without a byte order
// mark. On top of the grammar it refuses what two readers could understand
// differently: a key that stands twice in one object, an escaped surrogate
// without its partner, and nesting beyond a bound.
//
// [Parse] walks the document once, without recursion, and allocates nothing
// for an ordinary document. A [Value] is a part of the checked bytes. It
// decodes what it is asked for and keeps no tree: the bytes given to Parse
// must not change while any Value of them is in use. Values may be read by
// several goroutines at once.
//
// Offsets of malformed documents are those of Python's json.loads (CPython
// 3.11), counted in bytes. The literals NaN, Infinity and -Infinity, which
// Python takes, are refused where they start.
package strictjson
