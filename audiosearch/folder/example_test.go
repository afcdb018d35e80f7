package folder_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// A folder becomes a dataset, and later the dataset follows the folder. For a folder of
// the disk, pass os.DirFS.
func ExampleSync() {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	check(err)
	service, err := audiosearch.New(db.AudioSearch(), nil)
	check(err)
	_, err = service.CreateDataset(ctx, "acme", "", "d")
	check(err)

	tree := fstest.MapFS{
		"2024/call.mp4": {Data: []byte("...")},
		"2025/talk.wav": {Data: []byte("...")},
		"2025/notes.md": {Data: []byte("...")},
	}
	opts := &folder.SyncOptions{
		Delete: true,
		Metadata: func(path string, info fs.FileInfo) (metadata.Map, error) {
			return metadata.Map{
				"year":  metadata.String(path[:4]),
				"bytes": metadata.Int(info.Size()),
			}, nil
		},
	}
	first, err := folder.Sync(ctx, service, "acme", "", "d", tree, opts)
	check(err)
	fmt.Println("added", first.Added)

	delete(tree, "2024/call.mp4")
	tree["2025/song.mp3"] = &fstest.MapFile{Data: []byte("...")}
	tree["2025/talk.wav"] = &fstest.MapFile{Data: []byte("a longer one")}
	second, err := folder.Sync(ctx, service, "acme", "", "d", tree, opts)
	check(err)
	fmt.Println("added", second.Added, "changed", second.Changed)
	fmt.Println("gone", second.Gone, "deleted", second.Deleted)

	// What is in the files now, Ingest finds: service.Ingest(ctx, "acme", "d").
	// Output:
	// added [2024/call.mp4 2025/talk.wav]
	// added [2025/song.mp3] changed [2025/talk.wav]
	// gone [2024/call.mp4] deleted 1
}

// The sounds of the videos lie in a folder of the disk.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "mortise")
	check(err)
	defer os.RemoveAll(dir)
	check(os.WriteFile(filepath.Join(dir, "call.wav"), []byte("RIFF..."), 0o600))

	videos, err := folder.Open(dir)
	check(err)
	defer videos.Close()                        // when the workers have ended
	opts := &audiosearch.Options{Files: videos} // and Media, and Scorers
	for _, path := range []string{"call.wav", "../call.wav"} {
		_, release, err := opts.Files.Local(context.Background(), "acme", path)
		fmt.Println(path, err)
		release()
	}
	// Output:
	// call.wav <nil>
	// ../call.wav the path leads out of the folder of the videos: correct it in the catalog
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
