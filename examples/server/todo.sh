#!/bin/sh
# Appends each documentation request to TODO.md, or to the file named as first argument.
# An event can come twice, so what is there already is left alone.
todo=${1:-TODO.md}
event=$(cat)
field='^\{"trigger_event_id":"([^"]*)","status":"[^"]*","source":"[^"]*","instructions":"(([^"\\]|\\.)*)".*$'
id=$(printf '%s\n' "$event" | sed -E "s/$field/\1/")
grep -qsF "$id" "$todo" && exit 0
instructions=$(printf '%s\n' "$event" | sed -E "s/$field/\2/")
printf -- '- [ ] %s (`%s`)\n' "$instructions" "$id" >>"$todo" && echo "added to $todo"
