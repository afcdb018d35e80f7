package audiosearchdb

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
)

// audioNames remembers the numbers of models and classes, and the vocabularies, which are
// the host's and never change.
type audioNames struct {
	mu           sync.Mutex
	numbers      map[string]int32
	vocabularies map[int32]*audioVocabulary
	bytes        int
}

// audioVocabulary is the list of a scoring's classes.
type audioVocabulary struct {
	id      int32
	classes []sound.Class
	numbers []int32
}

// namesKept bounds what a process remembers, in bytes.
const namesKept = 16 << 20

// room makes room for more. The lock is held.
func (n *audioNames) room(bytes int) {
	if n.bytes += bytes + 64; n.numbers == nil || n.bytes > namesKept {
		n.numbers, n.vocabularies, n.bytes = make(map[string]int32), make(map[int32]*audioVocabulary), bytes
	}
}

// numbersOf returns the numbers of names, by name; those of new ones if add is true. In a
// host's transaction it remembers nothing: that may be rolled back.
func (a *Store) numbersOf(ctx context.Context, org string, add bool, names ...string) (map[string]int32, error) {
	found := make(map[string]int32, len(names))
	missing := a.names.known(names, found)
	if len(missing) == 0 {
		return found, nil
	}
	read := func(s *engine.Session) error {
		return s.Query(func(rows pgx.Rows) error {
			var id int32
			var name []byte
			if err := rows.Scan(&id, &name); err != nil {
				return err
			}
			found[string(name)] = id
			return nil
		}, "SELECT id, name FROM @.audiosearch_names WHERE name = ANY ($1::text[])", missing)
	}
	err := a.db.Read(ctx, org, read)
	if err == nil && add && len(found) < len(names) {
		if err = a.db.Read(ctx, org, func(s *engine.Session) error {
			_, err := s.Exec(`INSERT INTO @.audiosearch_names (name) SELECT name FROM unnest($1::text[]) AS name ORDER BY name COLLATE "C" ON CONFLICT DO NOTHING`, missing)
			return err
		}); err == nil {
			err = a.db.Read(ctx, org, read)
		}
	}
	if err == nil && !a.db.IsHosted(ctx) {
		a.names.keep(found)
	}
	return found, err
}

// known adds the numbers of names that are known, and returns the others.
func (n *audioNames) known(names []string, found map[string]int32) (missing []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range names {
		if id, ok := n.numbers[name]; ok {
			found[name] = id
		} else {
			missing = append(missing, name)
		}
	}
	return missing
}

func (n *audioNames) keep(numbers map[string]int32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, id := range numbers {
		n.room(len(name))
		n.numbers[name] = id
	}
}

// model returns the number of a model; 0, which none has, if add is false and it has none.
func (a *Store) model(ctx context.Context, org, id string, add bool) (int32, error) {
	numbers, err := a.numbersOf(ctx, org, add, id)
	return numbers[id], err
}

// For numbers, and for a digest and numbers.
const (
	vocabularyOf     = "SELECT id FROM @.audiosearch_vocabularies WHERE digest = $1"
	insertVocabulary = "INSERT INTO @.audiosearch_vocabularies (digest, classes) VALUES ($1, $2) ON CONFLICT DO NOTHING"

	// A join may compare each class with each name, by a plan that was made while there was one.
	vocabularyNames = "SELECT c.id, (SELECT n.name FROM @.audiosearch_names AS n WHERE n.id = c.id) FROM @.audiosearch_vocabularies AS v" +
		" CROSS JOIN LATERAL unnest(v.classes) WITH ORDINALITY AS c (id, place) WHERE v.id = $1 ORDER BY c.place"
)

// vocabulary returns the one of classes, a new one if need be.
func (a *Store) vocabulary(ctx context.Context, org string, classes []sound.Class) (*audioVocabulary, error) {
	names := make([]string, len(classes))
	digest := sha256.New()
	for i, c := range classes {
		names[i] = string(c)
		fmt.Fprintf(digest, "%d:%s", len(c), c)
	}
	numbers, err := a.numbersOf(ctx, org, true, names...)
	if err != nil {
		return nil, err
	}
	v := &audioVocabulary{classes: append([]sound.Class{}, classes...), numbers: make([]int32, len(classes))}
	for i, name := range names {
		v.numbers[i] = numbers[name]
	}
	sum := digest.Sum(nil)
	err = a.db.Read(ctx, org, func(s *engine.Session) error {
		err := s.Row(vocabularyOf, []any{sum}, &v.id)
		if !engine.IsNoRow(err) {
			return err
		}
		if _, err := s.Exec(insertVocabulary, sum, v.numbers); err != nil {
			return err
		}
		return s.Row(vocabularyOf, []any{sum}, &v.id)
	})
	return v, err
}

// vocabularyByID reads a vocabulary.
func (a *Store) vocabularyByID(s *engine.Session, id int32) (*audioVocabulary, error) {
	n := &a.names
	n.mu.Lock()
	v := n.vocabularies[id]
	n.mu.Unlock()
	if v != nil {
		return v, nil
	}
	v = &audioVocabulary{id: id, classes: []sound.Class{}}
	size := 0
	err := s.Seek(func(rows pgx.Rows) error {
		var number int32
		var name []byte
		if err := rows.Scan(&number, &name); err != nil {
			return err
		}
		v.classes, v.numbers = append(v.classes, sound.Class(name)), append(v.numbers, number)
		size += len(name) + 32
		return nil
	}, vocabularyNames, id)
	if err == nil && !s.Hosted() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.room(size)
		n.vocabularies[id] = v
	}
	return v, err
}
