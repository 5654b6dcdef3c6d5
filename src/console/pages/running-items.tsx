/**
 * The running items of a job or queue: step, elapsed time, last output, turns and cost. A row opens the live
 * output.
 */

import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { itemTexts } from "../data/letter.ts";
import { quoted } from "../data/search.ts";
import { useRoute } from "../data/use-route.ts";
import { May } from "../shell/session.tsx";
import { Action } from "../ui/action.tsx";
import { Button } from "../ui/button.tsx";
import { SameAsCommand } from "../ui/copy.tsx";
import { MiddleText } from "../ui/middle-text.tsx";
import { costText, plural } from "../ui/numbers.ts";
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
      <ul className="max-h-[40rem] divide-y divide-line overflow-auto">
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
  const { item_id: item, name, data, attempt, started_at, step, last_line: line, usage } = row;
  const now = useNow();
  const params = { job, item_id: item };
  const facts = [
    attempt > 1 && `attempt ${attempt}`,
    usage?.turns !== undefined && plural(usage.turns, "turn"),
    usage?.cost_usd !== undefined && costText(usage.cost_usd),
    step,
  ].filter(Boolean);
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5 px-3 py-2">
        <div className="grid min-w-0 flex-1 basis-72 gap-x-4 leading-5 max-sm:basis-full lg:grid-cols-[minmax(0,1fr)_minmax(0,1.2fr)] lg:items-center">
          <span className="min-w-0">
            <Link
              to="/items/$queue/$item"
              params={{ queue: job, item }}
              className="block min-w-0 font-medium hover:underline"
            >
              <MiddleText text={itemTexts(item, data, name).title} />
            </Link>
            {facts.length > 0 && (
              <span className="block truncate text-xs text-muted" title={facts.join(" · ")}>
                {facts.join(" · ")}
              </span>
            )}
          </span>
          {line !== undefined && (
            <span className="block truncate font-mono text-xs" title={line}>
              {line}
            </span>
          )}
        </div>
        <span
          className="w-20 text-right whitespace-nowrap text-muted max-sm:w-auto max-sm:flex-1 max-sm:text-left"
          title={`since ${started_at}`}
        >
          {durationText(Math.max(0, now - Date.parse(started_at)))}
        </span>
        <span className="flex items-center gap-2">
          {canControl && (
            <May atLeast="operator">
              <Action
                label="Stop"
                title="The attempt is ended and does not count; the item is held"
                act={() => call("POST /jobs/{job}/items/{item_id}/stop", { params })}
              />
              <Action
                label="Skip"
                title="The attempt is ended, and the item does not run again"
                act={() => call("POST /jobs/{job}/items/{item_id}/skip", { params })}
              />
            </May>
          )}
          <Button aria-expanded={isOpen} onClick={() => onOpen(isOpen ? undefined : item)}>
            {isOpen ? "Hide" : "Output"}
          </Button>
        </span>
      </div>
      {isOpen && (
        <>
          {canControl && <Attach job={job} row={row} />}
          <LiveLog params={{ queue: job, item_id: item }} />
        </>
      )}
    </>
  );
}

/** The commands that open the folder and the agent of an item, on the machine where it runs. */
function Attach({ job, row: { item_id: item, open_command: session } }: Pick<EntryProps, "job" | "row">) {
  const commands = [["A shell in its folder", `redrive attach ${quoted(job)} ${quoted(item)}`]];
  if (session !== undefined) commands.push(["The session of its agent", session]);
  return (
    <dl className="grid grid-cols-1 gap-x-4 gap-y-1 px-3 pb-2 sm:grid-cols-[max-content_minmax(0,1fr)] sm:items-center">
      {commands.map(([name, command = ""]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="flex min-w-0">
            <SameAsCommand command={command} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
