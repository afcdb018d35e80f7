package audiosearchdb

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	insertVocabulary = "INSERT INTO audiosearch_vocabularies (digest, classes, names) VALUES (?,?,?)" +
		" ON CONFLICT DO NOTHING"
	vocabularyNames = "SELECT names FROM audiosearch_vocabularies WHERE seq = ?"
	// Once the last model that needed it is gone.
	freeVocabulary = "DELETE FROM audiosearch_vocabularies WHERE seq = ?1" +
		" AND NOT EXISTS (SELECT 1 FROM audiosearch_models WHERE vocabulary = ?1)"
)

// vocabulary is a list of classes, as it is stored. Nothing in it changes.
type vocabulary struct {
	classes []sound.Class
	numbers map[sound.Class]int // their places in the list
}

// vocabularies are those that this process knows, by seq.
type vocabularies struct {
	mu    sync.Mutex
	bySeq map[int64]*vocabulary
	known int // classes of all of them
}

// knownClasses bounds what a process remembers: the vocabularies of twenty models of the
// most classes that there may be.
const knownClasses = 20 * sound.MaxClasses

// get returns a vocabulary, and reads it if it is not known.
func (vs *vocabularies) get(c *file.Conn, seq int64) (*vocabulary, error) {
	vs.mu.Lock()
	known := vs.bySeq[seq]
	vs.mu.Unlock()
	if known != nil {
		return known, nil
	}
	var names []sound.Class
	err := c.Query(context.Background(), vocabularyNames, []any{seq}, func(r *file.Row) error {
		return json.Unmarshal([]byte(r.Text(0)), &names)
	})
	if err == nil && names == nil {
		err = fmt.Errorf("sqlite: a row is damaged: the vocabulary %d is gone", seq)
	}
	if err != nil {
		return nil, err
	}
	v := &vocabulary{classes: names, numbers: make(map[sound.Class]int, len(names))}
	for i, name := range names {
		v.numbers[name] = i
	}
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if other := vs.bySeq[seq]; other != nil { // somebody was faster
		return other, nil
	}
	if vs.known += len(names) + 1; vs.bySeq == nil || vs.known > knownClasses {
		vs.bySeq, vs.known = make(map[int64]*vocabulary), len(names)+1
	}
	vs.bySeq[seq] = v
	return v, nil
}

// digestOf is what a vocabulary is found by.
func digestOf(classes []sound.Class) []byte {
	size := len(classes)
	for _, c := range classes {
		size += len(c)
	}
	b := make([]byte, 0, size)
	for _, c := range classes {
		b = append(append(b, c...), 0)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// namesText is a vocabulary as it is stored.
func namesText(classes []sound.Class) (string, error) {
	if len(classes) == 0 {
		return "[]", nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // somebody may read it
	if err := e.Encode(classes); err != nil {
		return "", fmt.Errorf("sqlite: write the names of classes: %w", err)
	}
	return string(bytes.TrimSpace(b.Bytes())), nil
}
