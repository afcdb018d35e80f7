package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"text/template"

	"github.com/seed-6363c74e/mortise/audiosearch/synth"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
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
// ends the other's. Without a demo they are empty. The code is in the link that signs in.
type demoCredentials struct {
	key, token string
	code       *signInCode
}

// administers reports whether an access token belongs to the demo's administrator.
func (d *demoCredentials) administers(token string) bool {
	return d.token != "" && subtle.ConstantTimeCompare([]byte(d.token), []byte(token)) == 1
}

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
func withDemo(own string, may access.Access, stored verifier) verifier {
	if own == "" {
		return stored
	}
	return func(ctx context.Context, credentials string) (httpadapter.Principal, error) {
		if subtle.ConstantTimeCompare([]byte(own), []byte(credentials)) == 1 {
			return httpadapter.Principal{Organization: demoOrganization, Subject: "demo", Access: may}, nil
		}
		return stored(ctx, credentials)
	}
}

// demoMade is true once the demo's organization is provisioned.
type demoMade struct{ atomic.Bool }

func (d *demoMade) ping(context.Context) error {
	if !d.Load() {
		return errors.New("the demo is not provisioned yet")
	}
	return nil
}

// demoPage is what the demo's text says.
type demoPage struct {
	URL, Key, Token string
	Link            string // signs in, once
	Kept            string // where
	Docs            bool
	All             bool   // a command for each operation
	Tomorrow        string // at this time, in RFC 3339
	Start           string // another one at each start: an address has one pending invitation
}

//go:embed demo.txt
var demoText string

var demoTemplate = template.Must(template.New("demo").Parse(demoText))

// write prints lines to paste into a POSIX shell. They need nothing but that and curl.
func (p *demoPage) write(w io.Writer) error { return demoTemplate.Execute(w, p) }

// demoCommand is one of the demo's three commands.
type demoCommand struct{ Title, Text string }

// commands returns the three commands that the demo prints.
func (p *demoPage) commands() (all []demoCommand, err error) {
	var b strings.Builder
	if err := demoTemplate.ExecuteTemplate(&b, "three", p); err != nil {
		return nil, fmt.Errorf("write the demo's commands: %w", err)
	}
	for paragraph := range strings.SplitSeq(b.String(), "\n\n") {
		title, text, _ := strings.Cut(paragraph, "\n")
		if strings.HasPrefix(text, "curl ") {
			all = append(all, demoCommand{strings.TrimPrefix(title, "# "), strings.TrimSpace(text)})
		}
	}
	return all, nil
}

// startDemo provisions the demo, and prints its link, and commands with its credentials.
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
	s.demo.Store(true)
	return page.write(stdout)
}

// demoRate is the sample rate of the demo's sounds, in Hz.
const demoRate = 16000

// demoSounds are the sounds that the demo makes, the same at each start, by the names of
// their files.
func demoSounds() map[string][]synth.Part {
	// The alarm is three times half a second on and off, and another second off (ISO 8201).
	alarm := synth.Gated(3, 1, synth.Gated(0.5, 0.5, synth.Tones(0.4, 3100)))
	busy := synth.Gated(0.5, 0.5, synth.Tones(0.2, 480, 620))
	quiet := func(seconds float64) synth.Part { return synth.Brown(0.01).For(seconds) }
	return map[string][]synth.Part{
		"office-phone.wav": {
			quiet(4), synth.Tones(0.2, 350, 440).For(8), synth.Keys(0.2, "05551234567890#").For(4), busy.For(8), quiet(4),
		},
		"kitchen-alarm.wav": {quiet(8), alarm.For(16), quiet(4)},
		"workshop.wav":      {quiet(2), synth.Tones(0.12, 50, 100, 150, 200, 250, 300).For(12), synth.Brown(0.05).For(4)},
		"radio.wav":         {synth.White(0.1).For(12), synth.Pink(0.1).For(12)},
		"test-signals.wav":  {synth.Tones(0.3, 1000).For(10), quiet(2), synth.Sweep(0.3, 200, 4000, 10).For(10)},
		"night.wav":         {quiet(4), synth.Tones(0).For(14), quiet(4)},
	}
}

// makeDemoSounds makes the demo's sound files, where they are missing. Another server may
// start on the same folder at the same time.
func makeDemoSounds(dir string) error {
	for name, parts := range demoSounds() {
		path := filepath.Join(dir, name)
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = wav.WriteFile(path, demoRate, synth.Samples(demoRate, uint64(len(name)-len(".wav")), parts...))
		}
		if err != nil {
			return fmt.Errorf("make the demo's sounds: %w", err)
		}
	}
	return nil
}
