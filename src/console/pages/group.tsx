/** One group: why these failures are one, what their letters have in common, and what can be done about all of them. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { useLetters } from "../data/letters.ts";
import { useKeys } from "../shell/keys.ts";
import { May, useMay } from "../shell/session.tsx";
import { Action } from "../ui/action.tsx";
import { Button } from "../ui/button.tsx";
import { ListTable } from "../ui/list-page.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Notes } from "../ui/notes.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { Heading, Panel } from "../ui/panel.tsx";
import { Pattern } from "../ui/pattern.tsx";
import { useRowSelection } from "../ui/selection.ts";
import { Sparkline } from "../ui/sparkline.tsx";
import { State } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { BulkDialog, type BulkKind } from "./bulk.tsx";
import { letterColumns, letterKey } from "./letter-columns.tsx";

const route = getRouteApi("/groups/$signature");
type GroupDetails = ResponseOf<"GET /groups/{group}">;

export function Group() {
  const { signature } = route.useParams();
  const group = useQuery({
    queryKey: ["group", signature],
    queryFn: ({ signal }) => call("GET /groups/{group}", { params: { group: signature } }, { signal }),
  });
  return <Loaded query={group}>{(data) => <Shown group={data} key={signature} />}</Loaded>;
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
          <Notes
            notes={group.notes}
            add={(text) =>
              call("POST /groups/{group}/notes", { params: { group: signature }, body: { text } })
            }
          />
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
  const mark = (verb: "open" | "resolve" | "ignore") => () =>
    call(`POST /groups/{group}/${verb}`, { params: { group: signature }, body: {} });
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
      {state !== "resolved" && <Action label="Mark as resolved" act={mark("resolve")} />}
      {state !== "ignored" && <Action label="Ignore" act={mark("ignore")} />}
      {state !== "open" && <Action label="Reopen" act={mark("open")} />}
    </div>
  );
}

function GroupLetters({ signature }: { readonly signature: string }) {
  const search = { group: signature };
  const navigate = useNavigate();
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
      <ListTable
        list={letters}
        label="Letters"
        columns={letterColumns(search).filter(({ key }) => key !== "error")}
        rowHeight={48}
        maxHeight="26rem"
        keyOf={letterKey}
        onOpen={({ queue, item_id: item }) =>
          void navigate({ to: "/letters/$queue/$item", params: { queue, item }, search })
        }
        selected={selected}
        onSelect={select}
        empty={{ title: "No letter waits in this group." }}
      />
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
  if (!explanation.data) return <Loaded query={explanation}>{() => null}</Loaded>;
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
