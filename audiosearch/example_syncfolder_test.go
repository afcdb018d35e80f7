package audiosearch_test

import (
	"context"
	"fmt"
	"io/fs"
	"testing/fstest"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// A folder becomes a dataset, and later the dataset follows the folder. For a folder of
// the disk, pass os.DirFS.
func ExampleService_SyncFolder() {
	service, done := newService(audiosearch.Options{})
	defer done()
	ctx := context.Background()
	folder := fstest.MapFS{
		"2024/call.mp4": {Data: []byte("...")},
		"2025/talk.wav": {Data: []byte("...")},
		"2025/notes.md": {Data: []byte("...")},
	}
	opts := &audiosearch.SyncOptions{
		Delete: true,
		Metadata: func(path string, info fs.FileInfo) (metadata.Map, error) {
			return metadata.Map{
				"year":  metadata.String(path[:4]),
				"bytes": metadata.Int(info.Size()),
			}, nil
		},
	}
	first, err := service.SyncFolder(ctx, "acme", "", "d", folder, opts)
	check(err)
	fmt.Println("added", first.Added)

	delete(folder, "2024/call.mp4")
	folder["2025/song.mp3"] = &fstest.MapFile{Data: []byte("...")}
	folder["2025/talk.wav"] = &fstest.MapFile{Data: []byte("a longer one")}
	second, err := service.SyncFolder(ctx, "acme", "", "d", folder, opts)
	check(err)
	fmt.Println("added", second.Added, "changed", second.Changed)
	fmt.Println("gone", second.Gone, "deleted", second.Deleted)

	// What is in the files now, Ingest finds: service.Ingest(ctx, "acme", "d").
	// Output:
	// added [2024/call.mp4 2025/talk.wav]
	// added [2025/song.mp3] changed [2025/talk.wav]
	// gone [2024/call.mp4] deleted 1
}
