package audiosearch

import (
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// metadataSize is how many bytes metadata have as JSON, about.
func metadataSize(m metadata.Map) int {
	size := 0
	for key, s := range m {
		size += len(key) + len(s.Text()) + len(`"":"",`)
	}
	return size
}

// checkMetadata adds what is wrong with the metadata of the field.
func checkMetadata(p *problems, field string, m metadata.Map) {
	if len(m) > metadata.MaxKeys {
		p.add(field, "", "must have at most %d keys", metadata.MaxKeys)
		return
	}
	for key, s := range m {
		switch {
		case !isKey(key):
			p.add(field, "", "keys must be valid UTF-8, not empty, and without U+0000")
			return
		case !utf8.ValidString(s.Text()):
			p.add(field, "", "values must be valid UTF-8")
			return
		}
	}
	if metadataSize(m) > metadata.MaxBytes {
		p.add(field, "", "must be at most %d bytes", metadata.MaxBytes)
	}
}

// isKey reports whether metadata may have the key.
func isKey(key string) bool { return key != "" && validText(key) }
