package httpadapter

import "unicode/utf8"

// The answers of a vault are written without reflection: a batch has a thousand tokens.

// tokenRecords is the answer to a tokenization.
func tokenRecords(tokens []string) []byte {
	const around = len(`{"token":""},`)
	size := len(`{"records":[]}`)
	for _, token := range tokens {
		size += len(token) + around
	}
	b := append(make([]byte, 0, size), `{"records":[`...)
	for i, token := range tokens {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"token":`...)
		b = append(appendString(b, token), '}')
	}
	return append(b, `]}`...)
}

const hexDigits = "0123456789abcdef"

// appendString appends a text as a JSON string. A byte that is not UTF-8 becomes U+FFFD.
func appendString(b []byte, text string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		b = append(b, text[start:i]...)
		switch {
		case c == '"', c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, "\ufffd"...)
		}
		i++
		start = i
	}
	return append(append(b, text[start:]...), '"')
}
