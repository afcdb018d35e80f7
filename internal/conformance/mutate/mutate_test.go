package mutate_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// part is in a thing by value, in a list and in a map.
type part struct{ Name string }

// thing has a field of each kind that stores keep.
type thing struct {
	ID    string
	At    time.Time
	Unset time.Time
	Took  time.Duration
	Size  int64
	Yes   bool
	Raw   []byte
	Tags  []string
	Parts []part
	By    map[string]part
	Next  *part
	Inner part
	none  int // not exported: not looked at
}

func newThing(id string) thing {
	return thing{
		ID: id + "\x00e\u0301", At: time.Date(2024, 1, 2, 3, 4, 5, 6789_000, time.UTC), Took: 1234567 * time.Nanosecond,
		Size: 1<<53 + 1, Yes: true, Raw: []byte("raw"), Tags: []string{"a", "b"}, Parts: []part{{"one"}, {"two"}},
		By: map[string]part{"x": {"ex"}, "y": {"why"}}, Inner: part{"inner"}, Next: &part{"next"}, none: 7,
	}
}

// methods are those of a store of things.
type methods struct {
	Put    func(t thing) error
	Get    func(id string) (thing, error)
	List   func() ([]thing, error)
	Update func(id string, update func(*thing) error) error
}

var errUnknown = errors.New("there is no such thing")

// store is faithful.
type store struct{ all map[string]thing }

func (t thing) clone() thing {
	t.Raw, t.Tags, t.Parts, t.By = slices.Clone(t.Raw), slices.Clone(t.Tags), slices.Clone(t.Parts), maps.Clone(t.By)
	if t.Next != nil {
		next := *t.Next
		t.Next = &next
	}
	return t
}

func (s *store) Put(t thing) error { s.all[t.ID] = t.clone(); return nil }

func (s *store) Get(id string) (thing, error) {
	t, ok := s.all[id]
	if !ok {
		return thing{}, errUnknown
	}
	return t.clone(), nil
}

func (s *store) List() (all []thing, err error) {
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		all = append(all, s.all[id].clone())
	}
	return all, nil
}

func (s *store) Update(id string, update func(*thing) error) error {
	t, err := s.Get(id)
	if err == nil {
		err = update(&t)
	}
	if err == nil {
		s.all[id] = t.clone()
	}
	return err
}

func newMethods() *methods {
	m := new(methods)
	mutate.Fill(m, &store{make(map[string]thing)})
	return m
}

// kept makes every mistake.
func kept() mutate.Kept[thing] {
	return mutate.Kept[thing]{
		Name: "thing", Key: func(t *thing) string { return t.ID }, Stored: "stored", Times: "times", Unset: "unset",
		Bytes: "bytes", Free: "ID", Exact: "exact", Given: "given", Left: "left", Got: "got",
	}
}

// changes are what mistakes do to each thing that is read.
var changes = map[string]func(t *thing){
	"forgets ID":                   func(t *thing) { t.ID = "" },
	"ends at U+0000 ID":            func(t *thing) { t.ID = t.ID[:1] },
	"composes letters ID":          func(t *thing) { t.ID = t.ID[:2] + "\u00e9" },
	"forgets At":                   func(t *thing) { t.At = time.Time{} },
	"tells in a time zone At":      func(t *thing) { t.At = t.At.In(time.FixedZone("here", 3600)) },
	"cuts to milliseconds At":      func(t *thing) { t.At = t.At.Truncate(time.Millisecond) },
	"sets to the epoch Unset":      func(t *thing) { t.Unset = time.Unix(0, 0).UTC() },
	"tells in a time zone Unset":   func(t *thing) { t.Unset = t.Unset.In(time.FixedZone("here", 3600)) },
	"forgets Took":                 func(t *thing) { t.Took = 0 },
	"cuts to milliseconds Took":    func(t *thing) { t.Took = time.Millisecond },
	"forgets Size":                 func(t *thing) { t.Size = 0 },
	"keeps as floating point Size": func(t *thing) { t.Size = 1 << 53 },
	"forgets Yes":                  func(t *thing) { t.Yes = false },
	"forgets Raw":                  func(t *thing) { t.Raw = nil },
	"forgets Tags":                 func(t *thing) { t.Tags = nil },
	"turns round Tags":             func(t *thing) { t.Tags = []string{"b", "a"} },
	"forgets Parts":                func(t *thing) { t.Parts = nil },
	"turns round Parts":            func(t *thing) { t.Parts = []part{{"two"}, {"one"}} },
	"forgets Parts.Name":           func(t *thing) { t.Parts = []part{{}, {}} },
	"forgets By":                   func(t *thing) { t.By = nil },
	"forgets By.Name":              func(t *thing) { t.By = map[string]part{"x": {}, "y": {}} },
	"forgets Next":                 func(t *thing) { t.Next = nil },
	"forgets Next.Name":            func(t *thing) { t.Next = new(part) },
	"forgets Inner.Name":           func(t *thing) { t.Inner = part{} },
}

// unseen are mistakes that do not show with the things of this test: what they would change
// is not there.
var unseen = []string{
	"sets to the epoch At", "forgets Unset", "cuts to milliseconds Unset", "sets if it is nil Next",
	"composes letters Parts.Name", "composes letters By.Name", "composes letters Next.Name", "composes letters Inner.Name",
}

// spoils change what a thing refers to, in place.
var spoils = map[string]func(t *thing){
	"Raw":   func(t *thing) { t.Raw[0] = '!' },
	"Tags":  func(t *thing) { t.Tags[0] = "!" },
	"Parts": func(t *thing) { t.Parts[0].Name = "!" },
	"By":    func(t *thing) { t.By["x"] = part{"!"} },
	"Next":  func(t *thing) { t.Next.Name = "!" },
}

// makers tell what is shared with whom: each returns a thing that somebody else has.
var makers = map[string]func(t *testing.T, m *methods, id string) thing{
	"shares with its maker": func(t *testing.T, m *methods, _ string) thing {
		own := newThing("a")
		require.NoError(t, m.Put(own))
		return own
	},
	"shares with the last update": func(t *testing.T, m *methods, id string) (left thing) {
		require.NoError(t, m.Put(newThing("a")))
		require.NoError(t, m.Update(id, func(stored *thing) error {
			*stored = newThing("a")
			left = *stored
			return nil
		}))
		return left
	},
	"shares with readers": func(t *testing.T, m *methods, id string) thing {
		require.NoError(t, m.Put(newThing("a")))
		got, err := m.Get(id)
		require.NoError(t, err)
		return got
	},
}

// TestMistakes: each mistake changes what it says, and nothing else.
func TestMistakes(t *testing.T) {
	made := make(map[string]bool)
	for _, mutant := range kept().Mutants() {
		name := strings.TrimSuffix(mutant.Name, " of each thing")
		made[name] = true
		for verb, share := range maps.All(makers) {
			field, shares := strings.CutPrefix(name, verb+" ")
			if !shares {
				continue
			}
			for of, spoil := range spoils {
				m, want := newMethods(), newThing("a")
				mutant.Make(m)
				other := share(t, m, want.ID)
				spoil(&other)
				if of == field {
					spoil(&want)
				}
				got, err := m.Get(want.ID)
				require.NoError(t, err)
				require.Equal(t, want, got, "%s, and %s is spoiled", name, of)
			}
		}
		if change, ok := changes[name]; ok || slices.Contains(unseen, name) {
			m, given := newMethods(), newThing("a")
			mutant.Make(m)
			require.NoError(t, m.Put(given))
			want := newThing("a")
			if ok {
				change(&want)
			}
			got, err := m.Get(given.ID)
			require.NoError(t, err)
			require.Equal(t, want, got, name)
			all, err := m.List()
			require.NoError(t, err)
			require.Equal(t, []thing{want}, all, name)
			require.Equal(t, newThing("a"), given, "%s: what was given", name)
		}
	}
	want := slices.Concat(slices.Collect(maps.Keys(changes)), unseen)
	for verb := range makers {
		for field := range spoils {
			want = append(want, fmt.Sprint(verb, " ", field))
		}
	}
	require.ElementsMatch(t, want, slices.Collect(maps.Keys(made)))
}

// TestRefusals: what cannot be meant is a panic that says so.
func TestRefusals(t *testing.T) {
	refused := func(want string, do func()) {
		t.Helper()
		require.PanicsWithValue(t, want, do)
	}
	refused("mutate: C of a x is a chan int, which no store keeps", func() { mutate.Kept[struct{ C chan int }]{Name: "x"}.Mutants() })
	refused("mutate: A of a x is a interface {}, which no store keeps", func() { mutate.Kept[struct{ A any }]{Name: "x"}.Mutants() })
	refused(`mutate: no mistake of a thing is excepted by "forgets Nothing"`, func() {
		k := kept()
		k.Except = map[string]string{"forgets Nothing": "there is none"}
		k.Mutants()
	})
	refused("mutate: *mutate_test.part has no method Put", func() { mutate.Fill(new(methods), new(part)) })
	refused("mutate: no method Burn", func() { mutate.Around(newMethods(), func(*mutate.Call) {}, "Burn") })
	refused("mutate: no method Burn", func() { mutate.Replace(newMethods(), "Burn", 1, func(int) {}) })
	refused("mutate: in place of Put stands func(int) error, not func(int, mutate_test.thing) error",
		func() { mutate.Replace(newMethods(), "Put", 1, func(int) error { return nil }) })
}

// TestExcept: a mistake that is excepted is not made, and no other one is left out.
func TestExcept(t *testing.T) {
	k := kept()
	all := len(k.Mutants())
	k.Except = map[string]string{"forgets At": "", "Parts*": "", "Size": ""}
	require.Len(t, k.Mutants(), all-1-7-2)
}

// TestReplaceAndStand: a replacement is given what it stands for, and what a backend lacks
// stays nil.
func TestReplaceAndStand(t *testing.T) {
	m := newMethods()
	mutate.Replace(m, "Get", 7, func(self int, id string) (thing, error) { return thing{ID: fmt.Sprint(id, self)}, nil })
	got, err := m.Get("a")
	require.NoError(t, err)
	require.Equal(t, thing{ID: "a7"}, got)

	var calls []string
	stands := new(methods)
	mutate.Stand(stands, struct{ *store }{&store{make(map[string]thing)}}, func(method string, do func() error) error {
		calls = append(calls, method)
		if err := do(); err != nil {
			return err
		}
		return errUnknown
	})
	require.ErrorIs(t, stands.Put(newThing("a")), errUnknown, "although it took effect")
	got, err = stands.Get(newThing("a").ID)
	require.ErrorIs(t, err, errUnknown)
	require.Zero(t, got, "what is returned beside an error")
	require.Equal(t, []string{"Put", "Get"}, calls)
	lacking := new(methods)
	mutate.Stand(lacking, new(part), nil)
	require.Nil(t, lacking.Put)
}
