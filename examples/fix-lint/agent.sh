#!/bin/sh
# Stands for an AI agent. It reads its prompt from standard input, does what the lines "Replace A with B" say in the
# file that the line "Fix FILE" names, and commits.
set -e
prompt=$(cat)
file=$(printf '%s\n' "$prompt" | sed -n 's/^Fix //p')
rules=$(printf '%s\n' "$prompt" | sed -n 's/^Replace \(.*\) with \(.*\)$/s|\1|\2|g/p')
fixed=$(sed "$rules" "$file")
printf '%s\n' "$fixed" > "$file"
git commit -qam "Fix lint errors in $file"
echo "Fixed $file."
