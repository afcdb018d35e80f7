package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/ingest"
)

// TestConsole: the last line stays below what is written.
func TestConsole(t *testing.T) {
	var to bytes.Buffer
	c := &console{to: &to, terminal: true}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { fmt.Fprintln(c, "first") }, "first\n"},
		{func() { c.show("1 of 2") }, wipe + "1 of 2"},
		{func() { c.show("1 of 2") }, ""},
		{func() { fmt.Fprintln(c, "second") }, wipe + "second\n1 of 2"},
		{func() { c.show("") }, wipe},
		{func() { fmt.Fprintln(c, "third") }, "third\n"},
	} {
		to.Reset()
		if step.do(); to.String() != step.want {
			t.Errorf("%q, want %q", to.String(), step.want)
		}
	}
}

// TestConsoleElsewhere: a file, a pipe and nothing at all get no last line.
func TestConsoleElsewhere(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var buffer bytes.Buffer
	for _, c := range []*console{newConsole(file), newConsole(&buffer), nil} {
		if c.show("1 of 2"); c.shows() {
			t.Error("takes it for a terminal")
		}
	}
	if info, err := file.Stat(); err != nil || info.Size() > 0 || buffer.Len() > 0 {
		t.Errorf("%v %v, %q", info.Size(), err, &buffer)
	}
}

func TestProgressBar(t *testing.T) {
	const third = "Scoring videos [########................] 1 of 3"
	for _, test := range []struct {
		want string
		p    ingest.Progress
	}{
		{"", ingest.Progress{}},
		{"Scoring videos [........................] 0 of 3", ingest.Progress{Total: 3}},
		{third, ingest.Progress{Done: 1, Total: 3}},
		{third + "  a 0:07", ingest.Progress{Done: 1, Total: 3, Video: "a", Position: 7 * time.Second}},
		{third + "  a b 1:00:00 of 2:03:04", ingest.Progress{Done: 1, Total: 3, Video: "a\nb", Position: time.Hour, Length: 2*time.Hour + 3*time.Minute + 4*time.Second}},
		{third + "  xxxxxxxxxxxxxxxxxxx… 0:00", ingest.Progress{Done: 1, Total: 3, Video: strings.Repeat("x", 255)}},
		{third + "  0:07", ingest.Progress{Done: 1, Total: 3, Video: "a", Sound: audiosearch.SoundProgress{Done: 7 * time.Second}}},
		{"Scoring videos [############............] 1 of 3  1:00:00 of about 2:00:00, 14.2x, about 4:14 left", ingest.Progress{
			Done: 1, Total: 3, Sound: audiosearch.SoundProgress{Done: time.Hour, Total: 2 * time.Hour, Speed: 14.17}}},
		{"Scoring videos by ast [........................] 1 of 3  0:00 of about 2:00:00", ingest.Progress{
			Done: 1, Total: 3, Model: "ast", Sound: audiosearch.SoundProgress{Total: 2 * time.Hour}}},
		{"Scoring videos [########################] 3 of 3  2:00:00 of about 1:00:00", ingest.Progress{
			Done: 3, Total: 3, Sound: audiosearch.SoundProgress{Done: 2 * time.Hour, Total: time.Hour}}},
	} {
		if got := bar(&test.p); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestClockFine(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0:00", 2 * time.Second: "0:02", 2925 * time.Millisecond: "0:02.9", 99 * time.Millisecond: "0:00",
		time.Hour + 500*time.Millisecond: "1:00:00.5",
	} {
		if got := clockFine(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
