package strictjson_test

import (
	"errors"
	"fmt"

	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

func Example() {
	root, err := strictjson.Parse([]byte(`{"name": "caf\u00e9", "sizes": [40, 4e1]}`), 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for key, value := range root.Members() {
		fmt.Println(key.Text(), "at byte", value.Offset())
	}
	name, _ := root.Get("name")
	fmt.Println(name.Text(), name.TextLen())
	sizes, _ := root.Get("sizes")
	for i, size := range sizes.Elements() {
		n, ok := size.Int64()
		fmt.Println(i, string(size.Raw()), n, ok)
	}

	_, err = strictjson.Parse([]byte(`{"a": 1, "\u0061": 2}`), 0)
	var refused *strictjson.Error
	fmt.Println(errors.As(err, &refused), err, refused.Syntax)
	// Output:
	// name at byte 9
	// sizes at byte 31
	// café 4
	// 0 40 40 true
	// 1 4e1 0 false
	// true strictjson: duplicate key at byte 9 false
}
