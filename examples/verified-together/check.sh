#!/bin/sh
# Every {name} of the pages must be in names.txt.
status=0
for name in $(grep -oh '{[a-z]*}' pages/*.txt | tr -d '{}' | sort -u); do
  grep -qx "$name" names.txt || { echo "error: {$name} is not in names.txt" >&2; status=1; }
done
exit $status
