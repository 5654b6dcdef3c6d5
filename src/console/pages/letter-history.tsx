/** The history of a letter, oldest event first, with the time between events. */
import type { LetterDetails } from "../data/letter.ts";
import { Panel } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import { durationText, Time } from "../ui/time.tsx";

type Event = LetterDetails["events"][number];

/** Labels for events whose name is not clear enough, and the state whose icon they use. */
const EVENTS: Readonly<Record<string, readonly [state: string, text: string]>> = {
  item_queued: ["ready", "added to the queue"],
  attempt_started: ["running", "attempt started"],
  attempt_succeeded: ["done", "attempt succeeded"],
  attempt_failed: ["failed", "attempt failed"],
  attempt_retrying: ["retrying", "waits for its next attempt"],
  attempt_lost: ["lost", "the worker was lost"],
  dlq_item_added: ["dead", "became a dead letter"],
  dlq_item_removed: ["resolved", "removed from the dead letters"],
  dlq_items_reprocessed: ["ready", "retried"],
  dlq_item_amended: ["held", "data edited"],
  dlq_items_discarded: ["discarded", "discarded"],
  dlq_items_restored: ["ready", "restored"],
};

export function LetterTimeline({ letter }: { readonly letter: LetterDetails }) {
  return (
    <Panel title="Timeline">
      <ol className="max-h-80 overflow-auto px-3 py-2">
        {letter.events.map((event, index) => (
          <li key={event.id} className="flex items-center gap-3 py-0.5">
            <span className="min-w-24 shrink-0 font-mono text-xs text-muted">
              <Time clock at={event.at} />
            </span>
            <Entry event={event} />
            <span className="ml-auto text-xs whitespace-nowrap text-muted">
              {afterText(letter.events[index - 1], event)}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Entry({ event }: { readonly event: Event }) {
  const [state, text] = EVENTS[event.type] ?? ["other", event.type.replaceAll("_", " ")];
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-x-2 break-words">
      <State name={state} label={text} />
      {event.attempt !== undefined && <span className="text-muted">attempt {event.attempt}</span>}
      {typeof event.data?.author === "string" && <span className="text-muted">by {event.data.author}</span>}
    </span>
  );
}

function afterText(before: Event | undefined, event: Event): string {
  if (before === undefined) return "";
  const ms = Date.parse(event.at) - Date.parse(before.at);
  return ms < 1 ? "" : `+${durationText(ms)}`;
}
