package ffmpeg

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestParent is not a test by itself: TestDiesWithParent runs it in a process of its own.
func TestParent(t *testing.T) {
	program, path := os.Getenv("FFMPEG_TEST_PROGRAM"), os.Getenv("FFMPEG_TEST_FILE")
	if program == "" {
		t.Skip("is run by TestDiesWithParent")
	}
	_, _ = newMedia(t, &Options{FFprobe: program}).Probe(t.Context(), path)
}

// A process that is killed cannot clean up; the kernel does.
func TestDiesWithParent(t *testing.T) {
	folder := t.TempDir()
	program := script(t, "echo $$ > "+folder+"/new; mv "+folder+"/new "+folder+"/pid; exec sleep 1000")
	parent := exec.Command(os.Args[0], "-test.run=^TestParent$")
	parent.Env = append(os.Environ(), "FFMPEG_TEST_PROGRAM="+program, "FFMPEG_TEST_FILE="+write(t, "a.mp3", "x"))
	require.NoError(t, parent.Start())
	pid := readPID(t, folder+"/pid")
	require.False(t, gone(pid))
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	assert.Eventually(t, func() bool { return gone(pid) }, time.Minute, 20*time.Millisecond)
}
