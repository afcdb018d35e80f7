package mutate

import "context"

// Leaving makes every method return an error, in place of its own one, if its context has
// ended since the call began.
func Leaving(methods any, err error) {
	Around(methods, func(c *Call) {
		ctx := Get[context.Context](c.In)
		began := ctx != nil && (*ctx).Err() == nil
		if c.Go(); began && c.Err() != nil && *c.Err() != nil && (*ctx).Err() != nil {
			*c.Err() = err
		}
	})
}
