package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
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
