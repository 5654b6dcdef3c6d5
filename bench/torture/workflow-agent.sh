# One attempt of one workflow item in its own worktree: writes its file, and commits it or leaves that to the runner.
# Writes its start and its end to the ledger. Arguments: item, kind, number of failures, duration in seconds.
item=$1 kind=$2 failures=$3 seconds=$4

tell() { echo "$1 $item $REDRIVE_ATTEMPT $$ ${EPOCHREALTIME:-$(date +%s)}" >>"$TORTURE_LEDGER"; }
work() { mkdir -p work && echo "$item" >>"work/$item.txt"; }
commit() { git add -A && git commit -q -m "work on $item"; }

tell start
case $kind in
slow) sleep "$seconds"; work; commit ;;
late) work; commit; sleep "$seconds" ;;
messy) work; echo rubbish >"rubbish-$item.log"; chmod 700 work ;;
half) mkdir -p work; echo "first half" >"work/half-$item.txt"; commit; work ;;
clash) echo "$item" >shared.txt; work; commit; sleep "$seconds" ;;
flaky)
  work; commit
  [ "$REDRIVE_ATTEMPT" -gt "$failures" ] || { echo again >>"work/$item.txt"; echo "$item is not ready yet" >&2; exit 1; } ;;
bad)
  work; commit; echo more >>"work/$item.txt"; : >"untracked-$item"
  [ -e "$TORTURE_HEALED" ] || { echo "$item cannot be done" >&2; exit 9; }
  rm "untracked-$item"; git checkout -q -- "work/$item.txt" ;;
*) work; commit ;;
esac
tell done
