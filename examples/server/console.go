package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
)

// console is a terminal whose last line can show how far something is. What is written to it goes above that line. On anything but a terminal it
// shows nothing, and no more does a nil console.
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

// show puts a text, without control characters, in the place of the last line. "" removes it.
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

// progress is how far the scoring of videos is.
type progress struct {
	done, total int
	video       string // the one that was heard of last
	position    time.Duration
	length      time.Duration // 0: not known
}

func (p *progress) at(video string, position, length time.Duration) {
	p.video, p.position, p.length = video, position, length
}

// bar shows it on one short line, and "" once all is done.
func (p *progress) bar() string {
	if p.done >= p.total {
		return ""
	}
	const width, maxName = 24, 20
	filled := width * p.done / p.total
	text := fmt.Sprintf("Scoring videos [%s%s] %d of %d", strings.Repeat("#", filled), strings.Repeat(".", width-filled), p.done, p.total)
	if p.video == "" {
		return text
	}
	name := []rune(oneLine(p.video))
	if len(name) > maxName {
		name = append(name[:maxName-1], '…')
	}
	text += "  " + string(name) + " " + clock(p.position)
	if p.length > 0 {
		text += " of " + clock(p.length)
	}
	return text
}

// clock writes a time as m:ss, or h:mm:ss.
func clock(d time.Duration) string {
	s := int64(d / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
