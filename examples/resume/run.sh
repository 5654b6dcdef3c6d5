#!/bin/sh
# The same name resumes the same job: the second map processes only the new pages.
set -e
ledger="${1:?usage: run.sh LEDGER}"
export ledger
printf 'page-1\npage-2\n' | redrive map --name pages -- sh -c 'echo "$REDRIVE_ITEM" >> "$ledger"'
printf 'page-1\npage-2\npage-3\n' | redrive map --name pages -- sh -c 'echo "$REDRIVE_ITEM" >> "$ledger"'
