package secret_test

import (
	"crypto/rand"
	"fmt"

	"github.com/seed-6363c74e/mortise/internal/secret"
)

func Example() {
	key, err := secret.Issue(rand.Reader, "sk-")
	fmt.Println(len(key), err)
	kept := secret.Sum(key) // the key itself is shown once and forgotten
	fmt.Println(secret.Equal(kept, secret.Sum(key)), secret.Equal(kept, secret.Sum(key+"x")))
	// Output:
	// 67 <nil>
	// true false
}
