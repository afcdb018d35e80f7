package httpadapter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIfMatches(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  bool
	}{
		{[]string{`"a"`}, true},
		{[]string{`*`}, true},
		{[]string{" *\t"}, true},
		{[]string{`"x", "a"`}, true},
		{[]string{`"a","x"`}, true},
		{[]string{`"x"`, `"a"`}, true},
		{[]string{` ,"x" ,	, "a" , `}, true},
		{[]string{`"x,y", W/"a", "a"`}, true},
		{[]string{"\"é\xff\", \"a\""}, true},
		{[]string{`"", "a"`}, true},

		{[]string{`"b"`}, false},
		{[]string{`W/"a"`}, false},
		{[]string{`w/"a"`}, false},
		{[]string{`"x,"`, `"a`}, false},
		{[]string{`""`}, false},
		{[]string{``}, false},
		{[]string{` , `}, false},
		{nil, false},

		{[]string{`a`}, false},
		{[]string{`"a`}, false},
		{[]string{`a"`}, false},
		{[]string{`"`}, false},
		{[]string{`W/`}, false},
		{[]string{`W/*`}, false},
		{[]string{`"a" "x"`}, false},
		{[]string{`"a"x`}, false},
		{[]string{`"a", x`}, false},
		{[]string{`x, "a"`}, false},
		{[]string{`"x y", "a"`}, false},
		{[]string{`"a", *`}, false},
		{[]string{`*, *`}, false},
		{[]string{`'a'`}, false},
	} {
		require.Equal(t, c.want, ifMatches(c.lines, `"a"`), "%q", c.lines)
	}
}
