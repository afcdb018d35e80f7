package file

import (
	"fmt"
	"strings"
)

// refused are the statements that [HostTx] does not run: what would end the transaction, reach
// another file, or change how the connection works.
var refused = map[string]bool{
	"BEGIN": true, "COMMIT": true, "END": true, "ROLLBACK": true, "SAVEPOINT": true, "RELEASE": true,
	"ATTACH": true, "DETACH": true, "PRAGMA": true, "VACUUM": true,
}

// refuse returns an error if one of the statements of a text is refused. It splits the text
// as SQLite does (https://www.sqlite.org/lang.html).
func refuse(text string) error {
	first, trigger := true, false // of the statement: at its beginning, and whether it is CREATE TRIGGER
	words := 0                    // of the statement, up to 3
	for {
		word, rest := nextWord(text)
		if word == "" {
			return nil
		}
		text = rest
		if word == ";" {
			first, words = true, 0
			continue
		}
		upper := strings.ToUpper(word)
		switch {
		case first && trigger: // within its body
			trigger, words = upper != "END", 3
		case first && refused[upper]:
			return fmt.Errorf("sqlite: %s is not for a transaction of InTx", upper)
		case first:
			trigger, words = false, 1
			if upper != "CREATE" {
				words = 3
			}
		case words < 3:
			words++
			if trigger = upper == "TRIGGER"; trigger {
				words = 3
			} else if upper != "TEMP" && upper != "TEMPORARY" {
				words = 3
			}
		}
		first = false
	}
}

// nextWord returns the next word, ";", or any other token of a text of SQL, without space
// and comments, and what is behind it. At the end the token is "".
func nextWord(text string) (token, rest string) {
	for {
		text = strings.TrimLeft(text, " \t\r\n\f\v\ufeff")
		switch {
		case strings.HasPrefix(text, "--"):
			_, text, _ = strings.Cut(text, "\n")
			continue
		case strings.HasPrefix(text, "/*"):
			_, text, _ = strings.Cut(text[2:], "*/")
			continue
		case text == "", text[0] == 0: // where SQLite stops
			return "", ""
		}
		break
	}
	n := 1
	switch c := text[0]; {
	case c == '\'' || c == '"' || c == '`' || c == '[':
		end := c
		if c == '[' {
			end = ']'
		}
		// A doubled quote looks like the end of one and the begin of another, which is as good.
		if i := strings.IndexByte(text[1:], end); i >= 0 {
			n = i + 2
		} else {
			n = len(text)
		}
	case isWord(c):
		for n < len(text) && isWord(text[n]) {
			n++
		}
	}
	return text[:n], text[n:]
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
