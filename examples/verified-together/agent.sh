#!/bin/sh
# Takes the place of an AI agent. The first line of its prompt is the change: `rename FROM TO`, or `page NAME VALUE`.
set -eu
read -r kind one two || true # the prompt has no line end
if [ "$kind" = rename ]; then
  for file in names.txt pages/*.txt; do
    sed "s/$one/$two/g" "$file" > changed && mv changed "$file"
  done
  git add -A && git commit -qm "Rename $one to $two"
else
  # It writes what it finds in names.txt: the name itself, or the one that came in its place.
  name=$(grep -x "$two" names.txt || tail -1 names.txt)
  echo "The $one shows {$name}." > "pages/$one.txt"
  git add -A && git commit -qm "Add the page $one"
fi
