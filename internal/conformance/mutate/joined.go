package mutate

import "sync"

// Joined makes a method that returns a thing by two names, its second and third argument,
// return the error for things of which another one was removed with names that read the
// same when they are joined. removed are the methods that remove a thing by the same
// arguments.
func Joined(methods any, missing error, find string, removed ...string) {
	var mu sync.Mutex
	gone := make(map[string]bool)
	key := func(c *Call) string { return c.In[1].String() + c.In[2].String() }
	Around(methods, func(c *Call) {
		if c.Go(); *c.Err() == nil {
			mu.Lock()
			defer mu.Unlock()
			gone[key(c)] = true
		}
	}, removed...)
	Around(methods, func(c *Call) {
		mu.Lock()
		hidden := gone[key(c)]
		mu.Unlock()
		if c.Go(); hidden {
			c.Out[0].SetZero()
			*c.Err() = missing
		}
	}, find)
}
