#!/bin/sh
# Turns a page into HTML: its first line is the title, the others are paragraphs. A page without a title is refused.
title=$(head -n 1 "$1" | sed -n 's/^# //p')
if [ -z "$title" ]; then
  echo "$1 has no title" >&2
  exit 65
fi
printf '<!doctype html>\n<title>%s</title>\n<h1>%s</h1>\n' "$title" "$title"
sed '1d; /^$/d; s|.*|<p>&</p>|' "$1"
