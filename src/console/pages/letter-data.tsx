/**
 * The data of a letter: shown as a tree, edited as JSON with a preview of the changes, and compared with
 * earlier revisions.
 */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import type { Json } from "../../std/json.ts";
import { diffJson } from "../../std/json-diff.ts";
import { call } from "../data/api.ts";
import type { LetterDetails } from "../data/letter.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { formatExact, JsonView, parseExact } from "../ui/json-view.tsx";
import { bytesText } from "../ui/numbers.ts";
import { ErrorPanel, Panel, Skeleton } from "../ui/panel.tsx";
import { usePaused } from "../ui/paused.ts";
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
  const params = { queue: letter.queue, item_id: letter.item_id };
  const [text, setText] = useState(() => formatExact(letter.item_data));
  const [note, setNote] = useState("");
  const pausedText = usePaused(text);
  const patch = (given: string, isDry: boolean) =>
    call(
      "PATCH /letters/{queue}/{item_id}",
      {
        params,
        query: { dry_run: isDry },
        body: { data: parsed(given), ...(note !== "" && { note }) },
      },
      { ifMatch: etag },
    );
  const preview = useQuery({
    queryKey: ["edit", params, etag, pausedText],
    queryFn: () => patch(pausedText, true),
    retry: false,
    gcTime: 0,
  });
  const save = useMutation({
    mutationFn: () => patch(text, false),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["letter"] });
      onEnd();
      onRetry();
    },
  });
  const changes = text === pausedText ? preview.data?.changes : undefined;
  const problem = preview.error === null ? undefined : schemaProblem(preview.error.message);
  return (
    <div>
      <Suspense fallback={<Skeleton rows={4} />}>
        <Editor value={text} onChange={setText} problem={problem} />
      </Suspense>
      {preview.error !== null && <ErrorPanel error={preview.error} />}
      {changes !== undefined && changes.length > 0 && (
        <div className="border-t border-line px-3 py-2">
          <Differences changes={changes} />
        </div>
      )}
      {save.error && <ErrorPanel error={save.error} />}
      <div className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-2">
        <input
          aria-label="Note about the change"
          placeholder="Note: what was wrong?"
          value={note}
          onChange={(event) => setNote(event.target.value)}
          className="min-w-48 flex-1 rounded-md border border-line-strong bg-panel px-2 py-1"
        />
        <Button onClick={onEnd}>Cancel</Button>
        <Button
          tone="primary"
          disabled={changes === undefined || changes.length === 0 || save.isPending}
          title={changes?.length === 0 ? "Nothing was changed yet." : undefined}
          onClick={() => save.mutate()}
        >
          Save and retry…
        </Button>
      </div>
    </div>
  );
}

function parsed(text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

const SCHEMA_PROBLEM = /does not match the schema: ((?:\["(?:\\.|[^"\\])*"\]|\S)+) (.*?)\.?$/u;

/** Parses the path and the problem from a schema validation error. */
function schemaProblem(message: string): { readonly path: string; readonly text: string } | undefined {
  const [, path, text] = SCHEMA_PROBLEM.exec(message) ?? [];
  return path === undefined || text === undefined ? undefined : { path, text };
}

export function Differences({ changes }: { readonly changes: readonly Change[] }) {
  if (changes.length === 0) return <p className="text-muted">Nothing changes.</p>;
  return (
    <ul aria-label="Differences" className="font-mono text-xs">
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

/** Compares each earlier revision with the current data. */
function Revisions({ letter }: { readonly letter: LetterDetails }) {
  const amendments = (letter.amendments ?? []).filter((amendment) => "before" in amendment).toReversed();
  if (amendments.length === 0) return null;
  return (
    <section aria-label="Earlier revisions" className="border-t border-line">
      {amendments.map((amendment, index) => (
        <details key={amendment.revision} open={index === 0} className="border-b border-line last:border-0">
          <summary className="cursor-pointer px-3 py-2 text-muted">
            Since revision {amendment.revision - 1}, edited by {amendment.author} <Time at={amendment.at} />
            {typeof amendment.note === "string" && `: ${amendment.note}`}
          </summary>
          <div className="border-t border-line px-3 py-2">
            <Differences changes={diffJson(amendment.before as Json, letter.item_data as Json)} />
          </div>
          <details className="px-3 pb-2">
            <summary className="cursor-pointer text-xs text-muted">
              The complete data before this edit
            </summary>
            <JsonView text={JSON.stringify(amendment.before) ?? "null"} />
          </details>
        </details>
      ))}
    </section>
  );
}
