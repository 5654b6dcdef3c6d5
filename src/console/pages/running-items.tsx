/**
 * The running items of a job or queue: step, elapsed time, last output, turns and cost. A row opens the live
 * output.
 */

import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { useRoute } from "../data/use-route.ts";
import { May } from "../shell/session.tsx";
import { Action } from "../ui/action.tsx";
import { Button } from "../ui/button.tsx";
import { costText, middle, plural } from "../ui/numbers.ts";
import { Panel } from "../ui/panel.tsx";
import { durationText, useNow } from "../ui/time.tsx";
import { LiveLog } from "./item-log.tsx";

type Running = ResponseOf<"GET /jobs/{job}/running">["running"][number];

/** Output does not cause events, so the last line is polled while something is running. */
const POLL_MS = 2000;
const SHOWN = 50;

interface RunningItemsProps {
  readonly job: string;
  readonly isActive: boolean;
  /** Items of maps and workflows can be stopped and skipped; those of queues belong to workers. */
  readonly canControl?: boolean;
}

export function RunningItems({ job, isActive, canControl = false }: RunningItemsProps) {
  const [open, setOpen] = useState<string>();
  const running = useRoute(
    "job",
    "GET /jobs/{job}/running",
    { params: { job }, query: { limit: SHOWN } },
    { refetchInterval: ({ state }) => (isActive || state.data?.running.length ? POLL_MS : false) },
  );
  const rows = running.data?.running ?? [];
  if (rows.length === 0 && !isActive) return null;
  return (
    <Panel title={`Running now (${rows.length})`}>
      {rows.length === 0 && <p className="px-3 py-3 text-muted">No item is being processed at the moment.</p>}
      <ul className="max-h-[32rem] divide-y divide-line overflow-auto">
        {rows.map((row) => (
          <li key={row.item_id}>
            <Entry
              job={job}
              row={row}
              canControl={canControl}
              isOpen={open === row.item_id}
              onOpen={setOpen}
            />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

interface EntryProps {
  readonly job: string;
  readonly row: Running;
  readonly isOpen: boolean;
  readonly canControl: boolean;
  readonly onOpen: (item: string | undefined) => void;
}

function Entry({ job, row, isOpen, canControl, onOpen }: EntryProps) {
  const { item_id: item, name, attempt, started_at, step, last_line: line, usage } = row;
  const now = useNow();
  const facts = [
    attempt > 1 && `attempt ${attempt}`,
    step,
    usage?.turns !== undefined && plural(usage.turns, "turn"),
    usage?.cost_usd !== undefined && costText(usage.cost_usd),
  ];
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
        <span className="min-w-0 flex-1 basis-48 leading-5 max-sm:basis-full">
          <Link
            to="/items/$queue/$item"
            params={{ queue: job, item }}
            className="block truncate font-medium hover:underline"
          >
            {name ?? middle(item, 40)}
          </Link>
          <span className="block truncate text-xs text-muted">{facts.filter(Boolean).join(" · ")}</span>
          {line !== undefined && (
            <span className="block truncate font-mono text-xs" title={line}>
              {line}
            </span>
          )}
        </span>
        <span className="whitespace-nowrap text-muted" title={`since ${started_at}`}>
          {durationText(Math.max(0, now - Date.parse(started_at)))}
        </span>
        {canControl && (
          <May atLeast="operator">
            <Action
              label="Stop"
              title="The attempt is ended and does not count; the item is held"
              act={() => call("POST /jobs/{job}/items/{item_id}/stop", { params: { job, item_id: item } })}
            />
            <Action
              label="Skip"
              title="The attempt is ended, and the item does not run again"
              act={() => call("POST /jobs/{job}/items/{item_id}/skip", { params: { job, item_id: item } })}
            />
          </May>
        )}
        <Button aria-expanded={isOpen} onClick={() => onOpen(isOpen ? undefined : item)}>
          {isOpen ? "Hide" : "Output"}
        </Button>
      </div>
      {isOpen && <LiveLog params={{ queue: job, item_id: item }} />}
    </>
  );
}
