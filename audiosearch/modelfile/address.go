package modelfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// address is where a model is to be fetched.
type address struct {
	url  *url.URL  // without a fragment
	want *[32]byte // the SHA-256 that the fragment asks for, or nil
	name string    // of the file in the folder
}

const (
	maxURLBytes  = 8 << 10
	maxBaseBytes = 80 // of a file's name, after the digest
)

var (
	errMalformed = errors.New("the address is no URL: write https://, a host and a path")
	errLong      = fmt.Errorf("the URL has more than %d bytes: give a shorter one", maxURLBytes)
	errNotHTTPS  = errors.New("only https is fetched, since with plain http others could exchange the model: " +
		"write https://, or download the file and give its path")
	errUserinfo = errors.New("the URL has a user or a password before the host: those end in logs, so leave them out, " +
		"or download the file yourself and give its path")
	errFragment = errors.New("after # a URL may have sha256= with 64 hexadecimal digits and nothing else: correct it, or leave it out")
)

// parseAddress takes a URL apart. Its errors repeat nothing of it.
func parseAddress(raw string) (address, error) {
	if len(raw) > maxURLBytes {
		return address{}, errLong
	}
	rest, fragment, has := strings.Cut(raw, "#")
	u, err := url.Parse(rest)
	if err != nil {
		return address{}, errMalformed // err would repeat the URL
	}
	if err := checkURL(u); err != nil {
		return address{}, err
	}
	a := address{url: u}
	if has {
		if a.want, err = parseFragment(fragment); err != nil {
			return address{}, err
		}
	}
	same := *u // scheme and host mean the same in capitals
	same.Host = strings.ToLower(same.Host)
	key := sha256.Sum256([]byte(same.String()))
	a.name = hex.EncodeToString(key[:16]) + "-" + baseName(u)
	return a, nil
}

// checkURL refuses what is not fetched, at first and after a redirect.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme == "http":
		return errNotHTTPS
	case u.User != nil:
		return errUserinfo
	case u.Scheme != "https" || u.Opaque != "" || u.Hostname() == "":
		return errMalformed
	}
	return nil
}

func parseFragment(fragment string) (*[32]byte, error) {
	digits, ok := strings.CutPrefix(fragment, "sha256=")
	if !ok {
		return nil, errFragment
	}
	return parseDigest(digits)
}

func parseDigest(digits string) (*[32]byte, error) {
	var digest [32]byte
	if len(digits) != hex.EncodedLen(len(digest)) {
		return nil, errFragment
	}
	if _, err := hex.Decode(digest[:], []byte(digits)); err != nil {
		return nil, errFragment
	}
	return &digest, nil
}

// baseName makes the readable end of a file's name of a URL.
func baseName(u *url.URL) string {
	base := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, path.Base(u.Path))
	// The end is kept, since it has the extension. Windows drops dots at the end of a
	// name.
	base = strings.TrimRight(base[max(0, len(base)-maxBaseBytes):], ".")
	if base == "" || base == "_" {
		return "model"
	}
	return base
}

// shown is what messages and records say of a URL: no query, and no more of the path than
// fits.
func shown(u *url.URL) string {
	const most = 300
	text := "https://" + u.Host + u.EscapedPath()
	if len(text) > most {
		text = text[:most] + "..."
	}
	return text
}
