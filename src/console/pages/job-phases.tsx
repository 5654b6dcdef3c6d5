/** The phases of a workflow with their durations, and the worktrees of its items that were merged or kept. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { useJobItems } from "../data/job-items.ts";
import { itemTexts } from "../data/letter.ts";
import { type List, usePages } from "../data/list.ts";
import { timeColumn } from "../ui/columns.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { ListTable } from "../ui/list-page.tsx";
import { middle } from "../ui/numbers.ts";
import { Panel } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";
import { durationText, useNow } from "../ui/time.tsx";

type Event = ResponseOf<"GET /events/list">["events"][number];

interface PhasesProps {
  readonly job: string;
  readonly isRunning: boolean;
}

interface Phase {
  readonly name: string;
  readonly start: number;
  readonly end?: number;
}

export function JobPhases({ job, isRunning }: PhasesProps) {
  const now = useNow();
  const phases = useQuery({
    queryKey: ["job", job, "phases"],
    queryFn: async ({ signal }) => {
      const query = { queue: job, type: ["phase_started" as const, "phase_completed" as const], limit: 500 };
      return phasesOf((await call("GET /events/list", { query }, { signal })).events);
    },
  });
  if (phases.data === undefined || phases.data.length === 0) return null;
  return (
    <ol aria-label="Phases" className="mb-3 flex flex-wrap items-center gap-x-2 gap-y-1">
      {phases.data.map(({ name, start, end }, index) => (
        <li key={name} className="flex items-center gap-2">
          {index > 0 && (
            <span aria-hidden="true" className="text-muted">
              →
            </span>
          )}
          <State name={end !== undefined ? "done" : isRunning ? "running" : "stopped"} label={name} />
          <span className="text-xs text-muted">
            {end !== undefined || isRunning ? durationText((end ?? now) - start) : "not finished"}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** The duration of a phase that ran again after a resume is measured from its last start. */
function phasesOf(events: readonly Event[]): readonly Phase[] {
  const phases = new Map<string, Phase>();
  for (const { type, at, data } of events) {
    const name = String(data?.phase);
    const time = Date.parse(at);
    const begun = phases.get(name);
    if (type === "phase_started") phases.set(name, { name, start: time });
    else if (begun !== undefined) phases.set(name, { ...begun, end: time });
  }
  return [...phases.values()];
}

const SHOWN_CHARS = 40;

/** Worktrees whose commits were merged, and worktrees kept for manual review, oldest first. */
export function JobWorktrees({ job }: { readonly job: string }) {
  const query = { queue: job, type: ["worktree_merged" as const, "worktree_kept" as const] };
  const list: List<Event> = usePages(
    ["job", job, "worktrees"],
    async (page, signal) => {
      const found = await call("GET /events/list", { query: { ...query, ...page } }, { signal });
      // The event list always returns a next cursor, because more events may come, so a page that is not full
      // is the last one.
      return { ...found, next: found.events.length < page.limit ? null : found.next };
    },
    ({ events }) => events,
  );
  const { rows: items } = useJobItems(job);
  const names = useMemo(
    () => new Map(items.map(({ item_id: id, data, name }) => [id, itemTexts(id, data, name).title])),
    [items],
  );
  if (list.rows.length === 0) return null;
  return (
    <Panel title="Merges and kept worktrees">
      <ListTable
        list={list}
        label="Merges and kept worktrees"
        columns={columnsOf(job, names)}
        maxHeight="20rem"
        keyOf={({ id }) => String(id)}
        empty={{ title: "No worktree was merged yet." }}
      />
    </Panel>
  );
}

function columnsOf(queue: string, names: ReadonlyMap<string, string>): readonly Column<Event>[] {
  return [
    {
      key: "item",
      title: "Item",
      track: "minmax(0, 1fr)",
      cell: ({ item_id: item = "" }) => (
        <Link to="/items/$queue/$item" params={{ queue, item }} className="hover:underline" title={item}>
          {middle(names.get(item) ?? item, SHOWN_CHARS)}
        </Link>
      ),
    },
    {
      key: "result",
      title: "Result",
      track: "84px",
      aside: true,
      cell: ({ type }) =>
        type === "worktree_merged" ? (
          <State name="done" label="merged" />
        ) : (
          <State name="held" label="kept" />
        ),
    },
    {
      key: "commit",
      title: "Commit or branch",
      track: "minmax(0, 1fr)",
      line: true,
      cell: ({ data }) => <Place data={data ?? {}} />,
    },
    timeColumn("at", "When", ({ at }) => at, { track: "88px" }),
  ];
}

const HASH_CHARS = 9;

function Place({ data: { commit, branch_name: branch } }: { readonly data: NonNullable<Event["data"]> }) {
  const text = String(commit ?? branch ?? "");
  if (text === "") return null;
  return (
    <span className="flex items-center gap-1 font-mono text-xs" title={text}>
      <span className="min-w-0 truncate">
        {commit === undefined ? middle(text, SHOWN_CHARS) : text.slice(0, HASH_CHARS)}
      </span>
      <CopyButton text={text} className="font-sans text-muted hover:text-text" />
    </span>
  );
}
