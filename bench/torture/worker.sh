# One attempt of one item. Writes its start and its end to the ledger, each in one appended write, so that lines of many
# workers never mix. Arguments: item, kind, number of failures, duration in seconds.
item=$1 kind=$2 failures=$3 seconds=$4

tell() { echo "$1 $item $REDRIVE_ATTEMPT $$ ${EPOCHREALTIME:-$(date +%s)}" >>"$TORTURE_LEDGER"; }

fail() { tell failed; echo "$2" >&2; exit "$1"; }

tell start
case $kind in
flaky) [ "$REDRIVE_ATTEMPT" -gt "$failures" ] || fail 1 "$item is not ready yet" ;;
bad) fail 9 "$item cannot be done" ;;
slow) sleep "$seconds" ;;
parent) sleep 120 & ;;
daemon) setsid sleep 120 >/dev/null 2>&1 & ;;
stubborn) trap '' TERM; sleep "$seconds" ;;
esac
tell done
[ "$kind" != lingering ] || sleep "$seconds"
