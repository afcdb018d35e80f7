package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"text/template"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/provision"
)

// demoOrganization is the one of the demo's document.
const demoOrganization = "demo"

//go:embed demo.json
var demoDocument []byte

// demoCredentials are an API key and an access token that are nowhere but in memory. So
// they end with the process, however that ends, and of two demos on the same data neither
// ends the other's. Empty ones are no demo.
type demoCredentials struct{ key, token string }

func newDemoCredentials() demoCredentials {
	secret := func(prefix string) string {
		random := make([]byte, 32)
		_, _ = rand.Read(random) // never fails
		return prefix + base64.RawURLEncoding.EncodeToString(random)
	}
	return demoCredentials{key: secret("sk-"), token: secret("at-")}
}

// verifier says whose credentials a request has, for [httpadapter.Bearer].
type verifier = func(ctx context.Context, credentials string) (httpadapter.Principal, error)

// withDemo takes a key or token of the demo's besides those that are stored.
func withDemo(own string, stored verifier) verifier {
	if own == "" {
		return stored
	}
	return func(ctx context.Context, credentials string) (httpadapter.Principal, error) {
		if subtle.ConstantTimeCompare([]byte(own), []byte(credentials)) == 1 {
			return httpadapter.Principal{Organization: demoOrganization, Subject: "demo", Access: access.Full()}, nil
		}
		return stored(ctx, credentials)
	}
}

// demoPage is what the demo's text says.
type demoPage struct {
	URL, Key, Token string
	Kept            string // where
	Docs            bool
	All             bool   // a command for each operation
	Start           string // another one at each start: an address has one pending invitation
}

//go:embed demo.txt
var demoText string

// write prints lines to paste into a POSIX shell. They need nothing but that and curl.
func (p *demoPage) write(w io.Writer) error {
	return template.Must(template.New("demo").Parse(demoText)).Execute(w, p)
}

// startDemo provisions the demo, and prints commands with its credentials. It is the only
// time that these are shown.
func startDemo(ctx context.Context, stdout io.Writer, s *services, page *demoPage, log *slog.Logger) error {
	doc, err := provision.Parse("the built-in demo", demoDocument, nil)
	if err == nil {
		err = makeDemoSounds(s.audio.files.dir)
	}
	if err == nil {
		err = applyDocument(ctx, s, doc, log)
	}
	if err != nil {
		return fmt.Errorf("provision the demo: %w", err)
	}
	return page.write(stdout)
}
