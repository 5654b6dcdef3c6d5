#!/bin/sh
# Stands for a service that is asked: prints the currency of a country, or says that it does not know it.
currency=$(sed -n "s/^$1 //p" currencies.txt)
if [ -z "$currency" ]; then
  echo "no currency for $1" >&2
  exit 1
fi
echo "$currency"
