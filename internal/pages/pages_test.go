package pages_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

var errRead = errors.New("read")

// list returns pages by where they begin: "after: items > next".
func list(of map[mortise.Cursor]string) func(mortise.Cursor) (mortise.Page[string], error) {
	return func(at mortise.Cursor) (mortise.Page[string], error) {
		page, ok := of[at]
		if !ok {
			return mortise.Page[string]{Items: []string{"not to be seen"}}, errRead
		}
		items, next, _ := strings.Cut(page, ">")
		return mortise.Page[string]{Items: strings.Fields(items), Next: mortise.Cursor(next)}, nil
	}
}

func TestEach(t *testing.T) {
	for name, c := range map[string]struct {
		from  mortise.Cursor
		pages map[mortise.Cursor]string
		want  []string
		err   error
	}{
		"one page":          {pages: map[mortise.Cursor]string{"": "a b"}, want: []string{"a", "b"}},
		"empty":             {pages: map[mortise.Cursor]string{"": ""}},
		"several":           {pages: map[mortise.Cursor]string{"": "a b>b", "b": "c>c", "c": "d"}, want: []string{"a", "b", "c", "d"}},
		"an empty one":      {pages: map[mortise.Cursor]string{"": "a>a", "a": ">b", "b": "c"}, want: []string{"a", "c"}},
		"from a place":      {from: "b", pages: map[mortise.Cursor]string{"": "a b>b", "b": "c"}, want: []string{"c"}},
		"a failure":         {pages: map[mortise.Cursor]string{"": "a>a"}, want: []string{"a"}, err: errRead},
		"it does not go on": {pages: map[mortise.Cursor]string{"": "a>a", "a": "b>a"}, want: []string{"a", "b"}, err: mortise.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			all := pages.Each(c.from, list(c.pages))
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
				require.ErrorIs(t, failure, c.err)
			}
		})
	}
}

// TestEachStops: a caller that has seen enough gets no further page read.
func TestEachStops(t *testing.T) {
	reads := 0
	read := list(map[mortise.Cursor]string{"": "a b>b", "b": "c"})
	for item, err := range pages.Each("", func(at mortise.Cursor) (mortise.Page[string], error) {
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

// TestCheck: a page that breaks the contract of lists is the store's fault.
func TestCheck(t *testing.T) {
	for page, well := range map[string]bool{
		"": true, "a b": true, "a>a": true, "a b>b": true, "a b c": false, "a b c>c": false, ">a": false, "a b>at": false,
	} {
		items, next, _ := strings.Cut(page, ">")
		err := pages.Check(mortise.Page[string]{Items: strings.Fields(items), Next: mortise.Cursor(next)}, "at", 2)
		if well {
			require.NoError(t, err, page)
		} else {
			require.ErrorIs(t, err, mortise.ErrUnavailable, page)
		}
	}
}
