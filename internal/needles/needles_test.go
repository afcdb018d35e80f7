package needles

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func all(needles []string, text string) bool {
	return !slices.ContainsFunc(needles, func(n string) bool { return !strings.Contains(text, n) })
}

// set is New that cannot fail.
func set(words []string) *Set {
	s, err := New(words, func(int) error { return nil })
	if err != nil {
		panic(err)
	}
	return s
}

// TestAllIn compares with package strings. There are few letters, so that strings are
// parts, prefixes and suffixes of one another.
func TestAllIn(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	random := func(most int) string {
		b := make([]byte, r.IntN(most+1))
		for i := range b {
			b[i] = "ab\x00\xff"[r.IntN(2+r.IntN(3))]
		}
		return string(b)
	}
	found := 0
	for range 20_000 {
		var words []string
		for range r.IntN(8) {
			words = append(words, random(1+r.IntN(40)%7))
		}
		if r.IntN(3) == 0 { // no longer few and short
			words = append(words, strings.Repeat("a", 1+r.IntN(60)), "b"+random(5))
		}
		s := set(words)
		for range 4 {
			text := random(40) + strings.Join(words[:r.IntN(len(words)+1)], random(2)) + random(3)
			want := all(words, text)
			require.Equal(t, want, s.AllIn(text), "%q in %q", words, text)
			if want {
				found++
			}
		}
	}
	require.Greater(t, found, 10_000)
}

// TestPartsAreNotLookedFor shows that a string that is part of another costs nothing.
func TestPartsAreNotLookedFor(t *testing.T) {
	long := strings.Repeat("ab", 20) + "c"
	s := set([]string{"a", "ab", "bab", "babc", long, long, "c", "x"})
	require.Equal(t, 2, s.words, "the long one and x")
	require.True(t, s.AllIn("x"+long))
	require.False(t, s.AllIn(long))
}

// TestNewGivesWay: a step is a fraction of a millisecond, and one that fails is the last.
func TestNewGivesWay(t *testing.T) {
	var words []string
	for i := range 100 {
		words = append(words, fmt.Sprintf("%03d", i)+strings.Repeat("ab", 2000))
	}
	steps, ended := 0, errors.New("ended")
	_, err := New(words, func(nanoseconds int) error {
		steps++
		require.Less(t, nanoseconds, 200_000)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, steps, 200)
	for last := 0; last < steps; last += 1 + steps/20 {
		seen := 0
		_, err := New(words, func(int) error {
			if seen++; seen > last {
				return ended
			}
			return nil
		})
		require.ErrorIs(t, err, ended)
		require.Equal(t, last+1, seen)
	}
}

// BenchmarkNew has the strings that filters have at most.
func BenchmarkNew(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var words []string
	for range 100 {
		word := make([]byte, 4096)
		for i := range word {
			word[i] = byte('a' + r.IntN(26))
		}
		words = append(words, string(word))
	}
	b.ReportAllocs()
	for b.Loop() {
		set(words)
	}
}

func FuzzAllIn(f *testing.F) {
	f.Add("ab,b,abab,", "xabab")
	f.Fuzz(func(t *testing.T, list, text string) {
		words := strings.Split(list, ",")
		require.Equal(t, all(words, text), set(words).AllIn(text))
		words = append(words, strings.Repeat("a", 40))
		require.Equal(t, all(words, text+words[0]), set(words).AllIn(text+words[0]))
	})
}

// BenchmarkAllIn has texts that are made to cost the most: they are full of prefixes of
// the strings.
func BenchmarkAllIn(b *testing.B) {
	for _, size := range []int{8, 31, 63, 600, 4096} {
		var words []string
		for i := range 100 {
			words = append(words, strings.Repeat("a", size-3)+fmt.Sprintf("%03d", i))
		}
		text := strings.Repeat("a", 60<<10)
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			s := set(words)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				s.AllIn(text)
			}
		})
		b.Run(fmt.Sprintf("strings/size=%d", size), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				strings.Contains(text, words[0])
			}
		})
	}
}
