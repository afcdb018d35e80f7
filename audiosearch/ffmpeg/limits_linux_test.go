package ffmpeg

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program can neither fill the disk nor the memory.
func TestProgramsAreLimited(t *testing.T) {
	j, err := newMedia(t, nil).open(t.Context(), write(t, "a.flac", "whatever it is"))
	require.NoError(t, err)
	defer j.close()
	file := filepath.Join(t.TempDir(), "file")
	// The limits are set just after the start, in their order. A usual program is still
	// loading its libraries then.
	p, err := j.start("/bin/sh", "-c", `n=0; until grep -q "data size *2147483648 " /proc/$$/limits || [ $((n+=1)) -gt 10000 ]; do :; done; cat /proc/$$/limits; (echo much >"`+file+`") 2>&-; echo wrote $?`)
	require.NoError(t, err)
	defer p.stop()
	told, err := io.ReadAll(p)
	require.NoError(t, err)
	for name, most := range map[string]string{"file size": "0", "core file size": "0", "data size": "2147483648", "open files": "64"} {
		assert.Regexp(t, regexp.MustCompile(`Max `+name+` +`+most+` +`+most+` `), string(told))
	}
	assert.NotContains(t, string(told), "wrote 0")
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Zero(t, info.Size())
}
