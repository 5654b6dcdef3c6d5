/** The data of a letter: shown as a tree, edited as JSON with a preview of the difference, compared with earlier revisions. */
import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { call } from "../data/api.ts";
import type { LetterDetails } from "../data/letter.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { formatExact, JsonView, parseExact } from "../ui/json-view.tsx";
import { bytesText } from "../ui/numbers.ts";
import { ErrorPanel, Panel, Skeleton } from "../ui/panel.tsx";
import { Time } from "../ui/time.tsx";

const Editor = lazy(() =>
  import("../ui/editor.tsx").then(({ Editor: component }) => ({ default: component })),
);

interface LetterDataProps {
  readonly letter: LetterDetails;
  readonly etag: string;
  readonly isEditing: boolean;
  readonly onEditing: (isEditing: boolean) => void;
  readonly onRetry: () => void;
}

export function LetterData({ letter, etag, isEditing, onEditing, onRetry }: LetterDataProps) {
  const text = JSON.stringify(letter.item_data) ?? "null";
  return (
    <Panel
      title={`Data (${bytesText(text.length)})`}
      actions={<CopyButton text={formatExact(letter.item_data)} label="Copy JSON" />}
    >
      {isEditing ? (
        <EditData letter={letter} etag={etag} onEnd={() => onEditing(false)} onRetry={onRetry} />
      ) : (
        <JsonView text={text} />
      )}
      <Revisions letter={letter} />
    </Panel>
  );
}

interface Change {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

interface EditDataProps {
  readonly letter: LetterDetails;
  readonly etag: string;
  readonly onEnd: () => void;
  readonly onRetry: () => void;
}

function EditData({ letter, etag, onEnd, onRetry }: EditDataProps) {
  const client = useQueryClient();
  const { queue, item_id } = letter;
  const [text, setText] = useState(() => formatExact(letter.item_data));
  const [note, setNote] = useState("");
  const [changes, setChanges] = useState<readonly Change[] | null>(null);
  const [error, setError] = useState<unknown>();
  const save = async (isDry: boolean) => {
    setError(undefined);
    try {
      const data = parseExact(text);
      const answer = await call(
        "PATCH /letters/{queue}/{item_id}",
        {
          params: { queue, item_id },
          query: { dry_run: isDry },
          body: { data, ...(note !== "" && { note }) },
        },
        { ifMatch: etag },
      );
      if (isDry) return setChanges(answer.changes);
      await client.invalidateQueries({ queryKey: ["letter", queue, item_id] });
      onEnd();
      onRetry();
    } catch (caught) {
      setError(caught instanceof SyntaxError ? new Error(`This is not JSON: ${caught.message}`) : caught);
    }
  };
  return (
    <div>
      <Suspense fallback={<Skeleton rows={4} />}>
        <Editor
          value={text}
          onChange={(next) => {
            setText(next);
            setChanges(null);
          }}
        />
      </Suspense>
      {changes !== null && <Differences changes={changes} />}
      {error !== undefined && <ErrorPanel error={error} />}
      <div className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-2">
        <input
          aria-label="Note about the change"
          placeholder="Note: what was wrong?"
          value={note}
          onChange={(event) => setNote(event.target.value)}
          className="min-w-48 flex-1 rounded-md border border-line-strong bg-panel px-2 py-1"
        />
        <Button onClick={onEnd}>Cancel</Button>
        <Button onClick={() => void save(true)}>Show the difference</Button>
        <Button
          tone="primary"
          disabled={changes === null || changes.length === 0}
          title={changes === null ? "Look at the difference first." : undefined}
          onClick={() => void save(false)}
        >
          Save and retry…
        </Button>
      </div>
    </div>
  );
}

export function Differences({ changes }: { readonly changes: readonly Change[] }) {
  if (changes.length === 0) return <p className="px-3 py-2 text-muted">Nothing changes.</p>;
  return (
    <ul aria-label="Differences" className="border-t border-line px-3 py-2 font-mono text-xs">
      {changes.map(({ path, before, after }) => (
        <li key={path} className="py-0.5 break-all">
          <span className="text-muted">{path || "data"}: </span>
          {before !== undefined && (
            <del className="rounded bg-red-soft px-1 text-red">{JSON.stringify(before)}</del>
          )}{" "}
          {after !== undefined && (
            <ins className="rounded bg-green-soft px-1 text-green no-underline">{JSON.stringify(after)}</ins>
          )}
        </li>
      ))}
    </ul>
  );
}

function Revisions({ letter }: { readonly letter: LetterDetails }) {
  const amendments = letter.amendments ?? [];
  if (amendments.length === 0) return null;
  return (
    <details className="border-t border-line px-3 py-2">
      <summary className="cursor-pointer text-muted">
        {amendments.length} earlier {amendments.length === 1 ? "revision" : "revisions"}
      </summary>
      <ul className="mt-2 space-y-2">
        {amendments.map((amendment) => (
          <li key={amendment.revision}>
            <p className="text-muted">
              Revision {amendment.revision} by {amendment.author}, <Time at={amendment.at} />
            </p>
            {"before" in amendment && <JsonView text={JSON.stringify(amendment.before) ?? "null"} />}
          </li>
        ))}
      </ul>
    </details>
  );
}
