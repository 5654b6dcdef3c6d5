/** What happened to a letter, and what people wrote about it. */
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { call } from "../data/api.ts";
import type { LetterDetails } from "../data/letter.ts";
import { May } from "../shell/session.tsx";
import { Button } from "../ui/button.tsx";
import { ErrorPanel, Panel } from "../ui/panel.tsx";
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

export function LetterNotes({ letter }: { readonly letter: LetterDetails }) {
  const client = useQueryClient();
  const [text, setText] = useState("");
  const [error, setError] = useState<unknown>();
  const { queue, item_id } = letter;
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault();
    try {
      await call("POST /letters/{queue}/{item_id}/notes", { params: { queue, item_id }, body: { text } });
      setText("");
      await client.invalidateQueries({ queryKey: ["letter", queue, item_id] });
    } catch (caught) {
      setError(caught);
    }
  };
  const notes = letter.notes ?? [];
  return (
    <Panel title={`Notes (${notes.length})`}>
      <ul className="max-h-60 divide-y divide-line overflow-auto">
        {notes.map((note) => (
          <li key={`${note.at} ${note.text}`} className="px-3 py-2">
            <p className="break-words whitespace-pre-wrap">{note.text}</p>
            <p className="text-xs text-muted">
              {note.author}, <Time at={note.at} />
            </p>
          </li>
        ))}
      </ul>
      <May atLeast="operator">
        <form
          className="flex gap-2 border-t border-line px-3 py-2"
          onSubmit={(event) => void onSubmit(event)}
        >
          <input
            aria-label="New note"
            placeholder="Write a note"
            value={text}
            required
            onChange={(event) => setText(event.target.value)}
            className="min-w-0 flex-1 rounded-md border border-line-strong bg-panel px-2 py-1"
          />
          <Button type="submit">Add note</Button>
        </form>
        {error !== undefined && <ErrorPanel error={error} />}
      </May>
    </Panel>
  );
}
