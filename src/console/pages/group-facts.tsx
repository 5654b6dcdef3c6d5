/**
 * The panels of a group: why its failures are grouped, how it grows, what its letters have in common, and
 * which fixes worked before.
 */

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { useLetters } from "../data/letters.ts";
import { seriesOf } from "../data/series.ts";
import { useRoute } from "../data/use-route.ts";
import { Chart } from "../ui/chart.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { Panel } from "../ui/panel.tsx";
import { Pattern } from "../ui/pattern.tsx";
import { durationText, Time } from "../ui/time.tsx";
import { LettersOverTime } from "./letters-over-time.tsx";

export type GroupDetails = ResponseOf<"GET /groups/{group}">;

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

export function Explanation({ signature }: { readonly signature: string }) {
  const explanation = useExplanation(signature);
  if (!explanation.data) return <Loaded query={explanation}>{() => null}</Loaded>;
  const { pattern, nearest } = explanation.data;
  const { why, source, lines = [], hits = [] } = explanation.data as Explained;
  return (
    <Panel title="Why these letters are grouped">
      <div className="space-y-3 px-3 py-2">
        {lines.length === 0 && (
          <p className="font-mono text-xs break-words">
            <Pattern text={pattern} />
          </p>
        )}
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
        <Similar nearest={nearGroups(nearest)} />
      </div>
    </Panel>
  );
}

export function nearGroups(nearest: ResponseOf<"GET /groups/{group}/explain">["nearest"]): readonly Near[] {
  return nearest.filter(({ distance }) => distance <= NEAR_MAX) as readonly Near[];
}

export function useExplanation(signature: string) {
  return useRoute("group", "GET /groups/{group}/explain", { params: { group: signature } });
}

export interface Near {
  readonly signature: string;
  readonly title?: string;
  readonly pattern?: string;
  readonly count: number;
}

/** Groups at a larger distance are hardly similar. */
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

/** When the letters of the group died and, if there were retries, when their attempts failed. */
export function Trend({ signature }: { readonly signature: string }) {
  const { rows } = useLetters({ group: signature });
  const times = rows.flatMap(({ failure_history: history }) =>
    history.map(({ timestamp }) => Date.parse(timestamp)),
  );
  const attempts = seriesOf(times);
  return (
    <LettersOverTime scope={{ group: signature }} topic="group">
      {attempts !== null && times.length > rows.length && (
        <div>
          <p className="mb-1 font-medium">Failed attempts of {plural(rows.length, "letter")}</p>
          <Chart label="Failed attempts over time" noun="attempt" tone="accent" height={64} {...attempts} />
        </div>
      )}
    </LettersOverTime>
  );
}

/** The most common values in the item data of the group's letters. */
export function WhatDiffers({ signature }: { readonly signature: string }) {
  const fields = useRoute("group", "GET /groups/{group}/fields", { params: { group: signature } });
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
                <Link
                  to="/letters"
                  search={{ group: signature, filter: celOf(path, value) }}
                  className="min-w-0 flex-1 truncate hover:underline"
                  title="Show these letters"
                >
                  {typeof value === "string" ? value : JSON.stringify(value)}
                </Link>
                <span>
                  {countText(count)} of {countText(read)}
                </span>
              </Bar>
            ))}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** A CEL expression that matches data with this value. */
function celOf(path: string, value: unknown): string {
  const place = path === "." ? "item" : path.startsWith("[") ? `item${path}` : `item.${path}`;
  return `${place} == ${JSON.stringify(value)}`;
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

/** How letters were resolved, as users see it. */
export const FIXES: Readonly<Record<string, string>> = {
  requeue: "a retry",
  edit: "an edit",
  auto_fix: "a fix rule",
};

interface Fix {
  readonly at: string;
  readonly kind: string;
  readonly count: number;
  readonly operation_id?: string;
  readonly rule?: string;
  readonly author?: string;
  readonly waited_ms?: number;
}

/** The fixes that resolved letters of this group, newest first. */
export function Helped({ group }: { readonly group: GroupDetails }) {
  const fixes = group.fixes as readonly Fix[];
  return (
    <Panel title="What helped before">
      {fixes.length === 0 && (
        <p className="px-3 py-3 text-muted">No letter of this group has succeeded after a retry yet.</p>
      )}
      <ul className="divide-y divide-line">
        {fixes.map((fix) => (
          <li key={`${fix.at} ${fix.kind}`} className="px-3 py-2">
            <p>
              {plural(fix.count, "letter")} succeeded after {FIXES[fix.kind] ?? fix.kind.replaceAll("_", " ")}
              {fix.rule !== undefined && (
                <>
                  {" "}
                  <code className="font-mono text-xs">{fix.rule}</code>
                </>
              )}
              {fix.waited_ms !== undefined && `, ${durationText(fix.waited_ms)} after the failure`}
            </p>
            <p className="text-xs text-muted">
              {fix.author !== undefined && `${fix.author}, `}
              <Time at={fix.at} />{" "}
              {fix.operation_id !== undefined && (
                <Link
                  to="/operations/$id"
                  params={{ id: fix.operation_id }}
                  className="text-accent underline"
                >
                  Open the retry
                </Link>
              )}
            </p>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
