package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// console is a terminal whose last line can show how far something is. What is written to
// it goes above that line. On anything but a terminal it shows nothing, and no more does
// a nil console.
type console struct {
	to       io.Writer
	terminal bool

	mu   sync.Mutex
	line string // that is shown
}

func newConsole(to io.Writer) *console {
	c := &console{to: to}
	if f, ok := to.(*os.File); ok {
		info, err := f.Stat()
		c.terminal = err == nil && info.Mode()&fs.ModeCharDevice != 0
	}
	return c
}

// wipe goes to the start of the line and erases it (ECMA-48, EL).
const wipe = "\r\x1b[K"

// Write implements [io.Writer].
func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line == "" {
		return c.to.Write(b)
	}
	_, _ = io.WriteString(c.to, wipe) // an error comes again
	n, err := c.to.Write(b)
	_, _ = io.WriteString(c.to, c.line)
	return n, err
}

// shows reports whether show has an effect.
func (c *console) shows() bool { return c != nil && c.terminal }

// show puts a text, without control characters, in the place of the last line. "" removes
// it.
func (c *console) show(text string) {
	if !c.shows() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if text != c.line {
		c.line = text
		_, _ = io.WriteString(c.to, wipe+text) // a terminal that is gone has nobody to tell
	}
}

// progress is how far the scoring of the videos of all datasets is.
type progress struct {
	done, total int    // videos: with two models, by the one that is at work
	model       string // that is at work, "" if there is but one
	sound       audiosearch.SoundProgress

	video    string // the one that was heard of last
	position time.Duration
	length   time.Duration // 0: not known
}

func (p *progress) at(video string, position, length time.Duration) {
	p.video, p.position, p.length = video, position, length
}

// bar shows it on one short line, and "" if there is nothing to do. What is not known is
// not there; the sound in all, and so the time that is left, are estimates.
func (p *progress) bar() string {
	if p.total == 0 {
		return ""
	}
	const width, maxName = 24, 20
	share := float64(p.done) / float64(p.total)
	if p.sound.Total > 0 { // which is what takes time
		share = float64(p.sound.Done) / float64(p.sound.Total)
	}
	filled := int(width * min(share, 1))
	text := "Scoring videos "
	if p.model != "" {
		text += "by " + shortened(p.model, maxName) + " "
	}
	text += fmt.Sprintf("[%s%s] %d of %d", strings.Repeat("#", filled), strings.Repeat(".", width-filled), p.done, p.total)
	switch {
	case p.sound.Done > 0 || p.sound.Total > 0:
		text += "  " + soundInWords(p.sound, "", "x", ", about ")
	case p.video != "":
		text += "  " + shortened(p.video, maxName) + " " + clock(p.position)
		if p.length > 0 {
			text += " of " + clock(p.length)
		}
	}
	return text
}

// soundInWords says how much sound is scored, how fast that is, and how long the rest
// takes, as far as that is known, with what stands after and before the numbers.
func soundInWords(p audiosearch.SoundProgress, unit, times, left string) string {
	text := clock(p.Done)
	if p.Total > 0 {
		text += " of about " + clock(p.Total)
	}
	text += unit
	if p.Speed > 0 {
		text += ", " + speed(p.Speed) + times
	}
	if rest, known := p.Left(); known {
		text += left + clock(rest) + " left"
	}
	return text
}

// speed writes how many times as fast as it plays sound is scored.
func speed(times float64) string {
	digits := 1
	if times >= 100 {
		digits = 0
	}
	return strconv.FormatFloat(times, 'f', digits, 64)
}

// shortened is a name of at most so many characters, on one line.
func shortened(text string, most int) string {
	name := []rune(oneLine(text))
	if len(name) > most {
		name = append(name[:most-1], '…')
	}
	return string(name)
}

// clock writes a time as m:ss, or h:mm:ss.
func clock(d time.Duration) string {
	s := int64(d / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// clockFine is clock with tenths of seconds, where the time has some: windows of models
// may be shorter than a second.
func clockFine(d time.Duration) string {
	if tenths := d / (100 * time.Millisecond) % 10; tenths > 0 {
		return fmt.Sprintf("%s.%d", clock(d), tenths)
	}
	return clock(d)
}
