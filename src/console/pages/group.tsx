/** One group: why these failures are one, what their letters have in common, and what can be done about all of them. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { useLetters } from "../data/letters.ts";
import { useKeys } from "../shell/keys.ts";
import { May, useMay } from "../shell/session.tsx";
import { Button } from "../ui/button.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { Pattern } from "../ui/pattern.tsx";
import { useRowSelection } from "../ui/selection.ts";
import { Sparkline } from "../ui/sparkline.tsx";
import { State } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { BulkDialog, type BulkKind } from "./bulk.tsx";
import { LetterTable, letterKey } from "./letter-table.tsx";

const route = getRouteApi("/groups/$signature");
type GroupDetails = ResponseOf<"GET /groups/{group}">;

export function Group() {
  const { signature } = route.useParams();
  const group = useQuery({
    queryKey: ["group", signature],
    queryFn: ({ signal }) => call("GET /groups/{group}", { params: { group: signature } }, { signal }),
  });
  if (group.error) return <ErrorPanel error={group.error} retry={() => void group.refetch()} />;
  if (!group.data) return <Skeleton rows={8} />;
  return <Shown group={group.data} key={signature} />;
}

function Shown({ group }: { readonly group: GroupDetails }) {
  const { signature, count, jobs } = group;
  const [bulk, setBulk] = useState<{ readonly kind: BulkKind; readonly queue: string } | null>(null);
  const [queue = ""] = jobs;
  const mayChange = useMay("operator");
  const start = (kind: BulkKind, of = queue) => setBulk({ kind, queue: of });
  useKeys(
    mayChange && count > 0
      ? { r: () => start("retry"), e: () => start("edit"), d: () => start("discard") }
      : {},
  );
  return (
    <>
      <Heading
        title={<Pattern text={group.title} />}
        facts={
          <>
            <State
              name={group.is_regression ? "regressed" : group.state}
              label={group.is_regression ? "came back" : group.state}
            />
            <span>{plural(count, "waiting letter")}</span>
            <span>
              {[group.error_type, group.location as string | undefined].filter(Boolean).join(" · ")}
            </span>
            <span>
              first <Time at={group.first_occurrence} />, last <Time at={group.last_occurrence} />
            </span>
          </>
        }
        command={`redrive groups show ${signature}`}
      />
      <May atLeast="operator">
        <Actions group={group} onStart={start} />
      </May>
      <div className="grid grid-cols-1 items-start gap-3 xl:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <div className="min-w-0 space-y-3">
          <Explanation signature={signature} />
          <GroupLetters signature={signature} />
        </div>
        <div className="min-w-0 space-y-3">
          <Trend signature={signature} />
          <WhatDiffers signature={signature} />
          <Helped group={group} />
          <Notes group={group} />
        </div>
      </div>
      {bulk !== null && (
        <BulkDialog
          kind={bulk.kind}
          target={{ queue: bulk.queue, search: { group: signature } }}
          onClose={() => setBulk(null)}
        />
      )}
    </>
  );
}

function Actions({
  group,
  onStart,
}: {
  readonly group: GroupDetails;
  readonly onStart: (kind: BulkKind, queue?: string) => void;
}) {
  const { signature, jobs, count, state } = group;
  const client = useQueryClient();
  const mark = useMutation({
    mutationFn: (verb: "open" | "resolve" | "ignore") =>
      call(`POST /groups/{group}/${verb}`, { params: { group: signature }, body: {} }),
    onSuccess: () => client.invalidateQueries(),
  });
  const none = count === 0 ? "The group has no waiting letters." : undefined;
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2">
      {jobs.map((queue, index) => (
        <Button
          key={queue}
          tone={index === 0 ? "primary" : "plain"}
          {...(index === 0 && { hotkey: "r" })}
          disabled={count === 0}
          title={none}
          onClick={() => onStart("retry", queue)}
        >
          Retry {jobs.length > 1 ? `in ${queue}` : "all"}…
        </Button>
      ))}
      <Button hotkey="e" disabled={count === 0} title={none} onClick={() => onStart("edit")}>
        Edit all…
      </Button>
      <Button tone="danger" hotkey="d" disabled={count === 0} title={none} onClick={() => onStart("discard")}>
        Discard all…
      </Button>
      <span className="flex-1" />
      {state !== "resolved" && <Button onClick={() => mark.mutate("resolve")}>Mark as resolved</Button>}
      {state !== "ignored" && <Button onClick={() => mark.mutate("ignore")}>Ignore</Button>}
      {state !== "open" && <Button onClick={() => mark.mutate("open")}>Reopen</Button>}
      {mark.error && <ErrorPanel error={mark.error} />}
    </div>
  );
}

function GroupLetters({ signature }: { readonly signature: string }) {
  const search = { group: signature };
  const letters = useLetters(search);
  const { selected, select } = useRowSelection(letters.rows.map(letterKey));
  return (
    <Panel
      title="Letters"
      actions={
        <Link to="/letters" search={search} className="text-accent hover:underline">
          Open as a list
        </Link>
      }
    >
      {letters.isPending && <Skeleton />}
      {letters.error && <ErrorPanel error={letters.error} retry={() => void letters.refetch()} />}
      {letters.data && letters.rows.length === 0 && <Empty title="No letter waits in this group." />}
      {letters.rows.length > 0 && (
        <LetterTable
          isGroup
          rows={letters.rows}
          search={search}
          onEndReached={letters.readMore}
          selected={selected}
          onSelect={select}
        />
      )}
    </Panel>
  );
}

interface Explained {
  readonly why?: string;
  readonly source?: string;
  readonly lines?: readonly string[];
  readonly hits?: readonly {
    readonly masker: string;
    readonly reason: string;
    readonly before: string;
    readonly after: string;
  }[];
}

function Explanation({ signature }: { readonly signature: string }) {
  const explanation = useQuery({
    queryKey: ["group", signature, "explain"],
    queryFn: ({ signal }) =>
      call("GET /groups/{group}/explain", { params: { group: signature } }, { signal }),
  });
  if (explanation.error) return <ErrorPanel error={explanation.error} />;
  if (!explanation.data) return <Skeleton rows={3} />;
  const { pattern, nearest } = explanation.data;
  const { why, source, lines = [], hits = [] } = explanation.data as Explained;
  return (
    <Panel title="Why this is one group">
      <div className="space-y-3 px-3 py-2">
        <p className="font-mono text-xs break-words">
          <Pattern text={pattern} />
        </p>
        {lines.length > 0 && (
          <div>
            <p className="text-muted">
              Taken from {source}: {why}.
            </p>
            <pre className="mt-1 overflow-auto rounded bg-code p-2 font-mono text-xs whitespace-pre-wrap">
              {lines.join("\n")}
            </pre>
          </div>
        )}
        {hits.length > 0 && (
          <ul className="space-y-1">
            {hits.map(({ masker, before, after, reason }) => (
              <li key={`${masker} ${before}`} className="break-words">
                <code className="font-mono text-xs">{before}</code> → <Pattern text={after} />{" "}
                <span className="text-muted">{reason}</span>
              </li>
            ))}
          </ul>
        )}
        <Similar nearest={nearest.filter(({ distance }) => distance <= NEAR_MAX) as readonly Near[]} />
      </div>
    </Panel>
  );
}

interface Near {
  readonly signature: string;
  readonly title?: string;
  readonly pattern?: string;
  readonly count: number;
}

/** Groups further away than this have little in common. */
const NEAR_MAX = 0.5;

function Similar({ nearest }: { readonly nearest: readonly Near[] }) {
  if (nearest.length === 0) return null;
  return (
    <div>
      <p className="text-muted">Similar groups</p>
      <ul>
        {nearest.map(({ signature, title, pattern, count }) => (
          <li key={signature} className="flex gap-2">
            <Link
              to="/groups/$signature"
              params={{ signature }}
              className="min-w-0 truncate text-accent hover:underline"
            >
              <Pattern text={title ?? pattern ?? signature} />
            </Link>
            <span className="text-muted">{countText(count)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function Trend({ signature }: { readonly signature: string }) {
  const arrivals = useQuery({
    queryKey: ["group", signature, "arrivals"],
    queryFn: ({ signal }) =>
      call("GET /arrivals", { query: { group: signature, bucket: "1h", newer_than: "24h" } }, { signal }),
  });
  if (!arrivals.data) return null;
  return (
    <Panel title="Letters in the last 24 hours">
      <div className="p-3">
        <Sparkline counts={arrivals.data.counts} label="letters in 24 h" width={280} height={48} />
      </div>
    </Panel>
  );
}

/** Which values of the items' data the letters of the group share. */
function WhatDiffers({ signature }: { readonly signature: string }) {
  const fields = useQuery({
    queryKey: ["group", signature, "fields"],
    queryFn: ({ signal }) => call("GET /groups/{group}/fields", { params: { group: signature } }, { signal }),
  });
  if (!fields.data || fields.data.fields.length === 0) return null;
  const { read } = fields.data;
  return (
    <Panel title={`What the letters have in common (of ${countText(read)})`}>
      <ul className="px-3 py-2">
        {fields.data.fields.map(({ path, values }) => (
          <li key={path} className="py-1">
            <code className="font-mono text-xs text-accent">{path}</code>
            {values.slice(0, 3).map(({ value, count }) => (
              <Bar key={JSON.stringify(value)} share={count / read}>
                <span className="min-w-0 flex-1 truncate">
                  {typeof value === "string" ? value : JSON.stringify(value)}
                </span>
                <span>{countText(count)}</span>
              </Bar>
            ))}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Bar({ share, children }: { readonly share: number; readonly children: ReactNode }) {
  return (
    <span className="relative mt-0.5 flex gap-2 overflow-hidden rounded px-1.5 py-0.5">
      <span
        aria-hidden="true"
        className="absolute inset-y-0 left-0 bg-accent-soft"
        style={{ width: `${share * 100}%` }}
      />
      <span className="relative flex min-w-0 flex-1 gap-2">{children}</span>
    </span>
  );
}

function Helped({ group }: { readonly group: GroupDetails }) {
  const { fixes } = group;
  if (fixes.length === 0) return null;
  return (
    <Panel title="What helped before">
      <ul className="divide-y divide-line">
        {fixes.map((fix) => (
          <li key={`${fix.at} ${fix.kind}`} className="px-3 py-2">
            {fix.kind.replaceAll("_", " ")} · {plural(fix.count, "letter")}{" "}
            <span className="text-muted">
              <Time at={fix.at} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Notes({ group }: { readonly group: GroupDetails }) {
  const client = useQueryClient();
  const [text, setText] = useState("");
  const add = useMutation({
    mutationFn: () =>
      call("POST /groups/{group}/notes", { params: { group: group.signature }, body: { text } }),
    onSuccess: () => {
      setText("");
      return client.invalidateQueries({ queryKey: ["group", group.signature] });
    },
  });
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate();
  };
  return (
    <Panel title={`Notes (${group.notes.length})`}>
      <ul className="divide-y divide-line">
        {group.notes.map((note) => (
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
        {add.error && <ErrorPanel error={add.error} />}
      </May>
    </Panel>
  );
}
