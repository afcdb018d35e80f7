package name

import (
	"strings"
	"unicode"
)

// Nearest returns the name that is closest to a misspelt one: "Dog" for "dog",
// "Dial tone" for "dialtone" or "Dail tone". "" says that none is near. It takes time in
// proportion to the number of names.
func Nearest[T ~string](misspelt string, names []T) T {
	if len(misspelt) > Max {
		return ""
	}
	wanted := folded(misspelt)
	// Of a short name too little is left if two letters are wrong.
	most := min(2, (len(wanted)-1)/3)
	var nearest T
	for _, n := range names {
		have := folded(string(n))
		if d := distance(wanted, have, most); d <= most {
			if nearest, most = n, d-1; d == 0 {
				break
			}
		}
	}
	return nearest
}

// folded returns the letters and digits of a name, without their case.
func folded(s string) []rune {
	var kept []rune
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			kept = append(kept, unicode.ToLower(r))
		}
	}
	if len(kept) == 0 { // a name of signs only
		kept = []rune(strings.TrimSpace(s))
	}
	return kept
}

// distance returns how many letters are to be added, taken away, changed or swapped with
// their neighbour to make b of a, or a number over most if they are more. (The optimal
// string alignment distance, see Damerau, CACM 7(3), 1964.)
func distance(a, b []rune, most int) int {
	if d := len(a) - len(b); d > most || -d > most {
		return most + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		best := row[0]
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
			best = min(best, row[j+1])
		}
		if best > most {
			return most + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
