/** What happened to a letter. */
import type { LetterDetails } from "../data/letter.ts";
import { Panel } from "../ui/panel.tsx";
import { Time } from "../ui/time.tsx";

export function LetterTimeline({ letter }: { readonly letter: LetterDetails }) {
  return (
    <Panel title="Timeline">
      <ol className="max-h-80 overflow-auto px-3 py-2">
        {letter.events.map((event) => (
          <li key={event.id} className="flex gap-3 py-0.5">
            <span className="w-24 shrink-0 text-muted">
              <Time at={event.at} />
            </span>
            <span className="min-w-0 break-words">
              {event.type.replaceAll("_", " ")}
              {event.attempt !== undefined && ` (attempt ${event.attempt})`}
              {typeof event.data?.author === "string" && (
                <span className="text-muted"> by {event.data.author}</span>
              )}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
