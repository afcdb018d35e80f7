package modelfile_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/seed-6363c74e/mortise/audiosearch/modelfile"
)

// A model is fetched at the first start. Later ones do not need the server.
func Example() {
	weights := []byte("\x08\x08 the bytes of a model")
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(weights)
	}))
	defer server.Close()
	dir, err := os.MkdirTemp("", "models")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	url := fmt.Sprintf("%s/resolve/main/onnx/model.onnx#sha256=%x", server.URL, sha256.Sum256(weights))
	options := &modelfile.Options{
		Client: server.Client(), // trusts this server; leave it out for those of the world
		Progress: func(p modelfile.Progress) {
			if p.Trouble == nil && p.Done == p.Total {
				fmt.Println("fetched", p.Done, "bytes")
			}
		},
	}
	first, err := modelfile.Fetch(context.Background(), dir, url, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("SHA-256 %x...\n", first.Digest[:4])

	server.Close()
	second, err := modelfile.Fetch(context.Background(), dir, url, options)
	fmt.Println(string(second.Data) == string(weights), err)
	// Output:
	// fetched 23 bytes
	// SHA-256 1aee2d7c...
	// true <nil>
}
