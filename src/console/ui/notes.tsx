/** The notes on a letter or a group, and a field to add one. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { May } from "../shell/session.tsx";
import { Button } from "./button.tsx";
import { ErrorPanel, Panel } from "./panel.tsx";
import { Time } from "./time.tsx";

interface NotesProps {
  readonly notes: ResponseOf<"GET /groups/{group}">["notes"];
  readonly add: (text: string) => Promise<unknown>;
}

export function Notes({ notes, add }: NotesProps) {
  const client = useQueryClient();
  const [text, setText] = useState("");
  const change = useMutation({
    mutationFn: () => add(text),
    onSuccess: () => {
      setText("");
      return client.invalidateQueries();
    },
  });
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate();
  };
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
        <form className="flex gap-2 border-t border-line px-3 py-2" onSubmit={onSubmit}>
          <input
            aria-label="New note"
            placeholder="Write a note"
            required
            value={text}
            onChange={(event) => setText(event.target.value)}
            className="min-w-0 flex-1 rounded-md border border-line-strong bg-panel px-2 py-1"
          />
          <Button type="submit">Add note</Button>
        </form>
        {change.error && <ErrorPanel error={change.error} />}
      </May>
    </Panel>
  );
}
