#!/bin/sh
# Stands for an AI agent. It gets its prompt as the last argument, does what the lines "Replace A with B" say in the
# file that the line "Fix FILE" names, and commits.
set -e
file=$(printf '%s\n' "$1" | sed -n 's/^Fix //p')
rules=$(printf '%s\n' "$1" | sed -n 's/^Replace \(.*\) with \(.*\)$/s|\1|\2|g/p')
fixed=$(sed "$rules" "$file")
printf '%s\n' "$fixed" > "$file"
git commit -qam "Fix lint errors in $file"
echo "Fixed $file."
