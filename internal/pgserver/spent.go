package pgserver

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Spent is what some work took: by the clock, and of processors, for this process and for the
// server apart. Where there is no /proc, the server's is 0.
type Spent struct{ Wall, Client, Server time.Duration }

// Add adds what other work took.
func (s *Spent) Add(more Spent) {
	s.Wall += more.Wall
	s.Client += more.Client
	s.Server += more.Server
}

// Measure returns what do takes. All that this process and the server do meanwhile counts, but
// for the measuring itself: that reads /proc, which takes this process as long as many calls.
func (s *Server) Measure(do func()) Spent {
	server := s.processorTime()
	client, began := ownTime(), time.Now()
	do()
	wall, own := time.Since(began), ownTime()-client
	return Spent{wall, own, s.processorTime() - server}
}

// ownTime is how long processors have worked for this process.
func ownTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// processorTime is how long processors have worked for the server and its processes, those
// that have ended too.
func (s *Server) processorTime() (sum time.Duration) {
	const (
		parent     = 1 // places in /proc/N/stat behind the name, which may have spaces
		ofChildren = 13
		tick       = time.Second / 100
	)
	server := strconv.Itoa(s.server.Process.Pid)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		dir := filepath.Dir(path)
		is := filepath.Base(dir) == server
		if len(fields) <= ofChildren+1 || !is && fields[parent] != server {
			continue
		}
		if is {
			for _, ticks := range fields[ofChildren : ofChildren+2] {
				n, _ := strconv.Atoi(ticks)
				sum += time.Duration(n) * tick
			}
		}
		// Not the ticks of stat: of many processes each, too few of them.
		if text, err = os.ReadFile(filepath.Join(dir, "schedstat")); err == nil {
			first, _, _ := strings.Cut(string(text), " ")
			n, _ := strconv.ParseInt(first, 10, 64)
			sum += time.Duration(n)
		}
	}
	return sum
}
