package onnx

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestProcessors(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(all)
	runtime.GOMAXPROCS(8)
	for _, c := range []struct{ threads, parallel, model, wantThreads, wantParallel int }{
		{0, 0, 5 << 20, 1, 8}, {0, 0, 300 << 20, 8, 1},
		{2, 0, 5 << 20, 2, 4}, {2, 0, 300 << 20, 2, 4}, {16, 0, 0, 16, 1},
		{0, 2, 5 << 20, 4, 2}, {0, 16, 0, 1, 16},
		{3, 5, 0, 3, 5},
	} {
		o := Options{Threads: c.threads, Parallel: c.parallel}
		threads, parallel := o.processors(c.model)
		assert.Equal(t, []int{c.wantThreads, c.wantParallel}, []int{threads, parallel}, "%+v", c)
	}
}
