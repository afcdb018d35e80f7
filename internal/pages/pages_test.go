package pages

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	errStands = errors.New("stands")
	errRead   = errors.New("read")
)

// list returns pages by where they begin: "after: items > next".
func list(pages map[ID]string) func(ID) ([]string, ID, bool, error) {
	return func(at ID) ([]string, ID, bool, error) {
		page, ok := pages[at]
		if !ok {
			return []string{"not to be seen"}, "", true, errRead
		}
		items, next, _ := strings.Cut(page, ">")
		return strings.Fields(items), ID(next), ID(next) > at, nil
	}
}

func TestEach(t *testing.T) {
	for name, c := range map[string]struct {
		from  ID
		pages map[ID]string
		want  []string
		err   error
	}{
		"one page":     {pages: map[ID]string{"": "a b"}, want: []string{"a", "b"}},
		"empty":        {pages: map[ID]string{"": ""}},
		"several":      {pages: map[ID]string{"": "a b>b", "b": "c>c", "c": "d"}, want: []string{"a", "b", "c", "d"}},
		"an empty one": {pages: map[ID]string{"": "a>a", "a": ">b", "b": "c"}, want: []string{"a", "c"}},
		"from a place": {from: "b", pages: map[ID]string{"": "a b>b", "b": "c"}, want: []string{"c"}},
		"a failure":    {pages: map[ID]string{"": "a>a"}, want: []string{"a"}, err: errRead},
		"it stands":    {pages: map[ID]string{"": "a>a", "a": "b>a"}, want: []string{"a", "b"}, err: errStands},
		"it goes back": {pages: map[ID]string{"": "b>b", "b": "c>a", "a": "b>b"}, want: []string{"b", "c"}, err: errStands},
	} {
		t.Run(name, func(t *testing.T) {
			all := Each(c.from, errStands, list(c.pages))
			for range 2 { // each range begins again
				var got []string
				var failure error
				for item, err := range all {
					require.NoError(t, failure, "nothing comes after an error")
					if failure = err; err == nil {
						got = append(got, item)
					} else {
						require.Empty(t, item)
					}
				}
				require.Equal(t, c.want, got)
				require.Equal(t, c.err, failure)
			}
		})
	}
}

// Who has seen enough is asked for no more, and no page is read for nothing.
func TestEachStops(t *testing.T) {
	reads := 0
	read := list(map[ID]string{"": "a b>b", "b": "c"})
	for item, err := range Each("", errStands, func(at ID) ([]string, ID, bool, error) {
		reads++
		return read(at)
	}) {
		require.NoError(t, err)
		if item == "b" {
			break
		}
	}
	require.Equal(t, 1, reads)
}
