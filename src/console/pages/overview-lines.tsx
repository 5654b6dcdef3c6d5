/** The lists of the overview: running operations and jobs, and the queues with the most letters. */

import { Link, type LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { isStanding, linkOf, type QueueSummary, type useOverview } from "../data/overview.ts";
import { useRoute } from "../data/use-route.ts";
import { MiddleText } from "../ui/middle-text.tsx";
import { countText, plural } from "../ui/numbers.ts";
import { Panel } from "../ui/panel.tsx";
import { Progress } from "../ui/progress.tsx";
import { State } from "../ui/state.tsx";
import { durationText, Time } from "../ui/time.tsx";
import { OperationState, operationTitle, UndoAction, wellDone } from "./operations.tsx";

const SHOWN = 6;
const RECENT = 5;

export function RunningNow() {
  const operations = useRoute("operations", "GET /operations", { query: { open: true } });
  const jobs = useRoute("jobs", "GET /jobs", { query: { limit: SHOWN } });
  const open = operations.data?.operations ?? [];
  const running = (jobs.data?.jobs ?? []).filter(({ status }) => status === "running");
  return (
    <Panel title="Running now">
      {open.length + running.length === 0 && (
        <p className="px-3 py-3 text-muted">No job and no operation is running.</p>
      )}
      <ul className="divide-y divide-line">
        {open.slice(0, SHOWN).map((operation) => {
          const { operation_id: id, selected, remaining, failed, refused } = operation;
          return (
            <Line
              key={id}
              link={{ to: "/operations/$id", params: { id } }}
              name={operationTitle(operation)}
              progress={
                <Progress done={wellDone(operation)} dead={failed + refused} total={operation.selected} />
              }
            >
              {countText(selected - remaining)} of {countText(selected)}
            </Line>
          );
        })}
        {running.map(({ job_id: id, succeeded, total, dead }) => (
          <Line
            key={id}
            link={{ to: "/jobs/$id", params: { id } }}
            name={id}
            progress={<Progress done={succeeded} dead={dead} total={total} />}
          >
            {countText(succeeded)} of {countText(total)}
            {dead > 0 && <span className="text-red"> · {countText(dead)} dead</span>}
          </Line>
        ))}
      </ul>
    </Panel>
  );
}

/** The most recent bulk changes, with a button to undo each. */
export function RecentOperations() {
  const operations = useRoute("operations", "GET /operations", { query: { limit: RECENT } });
  const ended = (operations.data?.operations ?? []).filter(({ ended_at: endedAt }) => endedAt !== undefined);
  if (ended.length === 0) return null;
  return (
    <Panel
      title="Changed last"
      actions={
        <Link to="/operations" className="text-accent hover:underline">
          All operations
        </Link>
      }
    >
      <ul className="divide-y divide-line">
        {ended.map((operation) => {
          const { operation_id: id, author, reason, ended_at: endedAt, selected } = operation;
          return (
            <li key={id} className="flex items-center gap-3 px-3 py-2">
              <OperationState operation={operation} />
              <span className="min-w-0 flex-1 leading-5">
                <Link to="/operations/$id" params={{ id }} className="block truncate hover:underline">
                  {operationTitle(operation)}: {countText(wellDone(operation))} of{" "}
                  {plural(selected, "letter")}
                </Link>
                <span className="block truncate text-xs text-muted">
                  {author}, <Time at={endedAt} />
                  {reason !== undefined && ` · “${reason}”`}
                </span>
              </span>
              <UndoAction operation={operation} />
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}

interface QueuesProps {
  readonly overview: ReturnType<typeof useOverview>["data"];
  readonly all: ReactNode;
}

export function QueueLines({ overview, all }: QueuesProps) {
  const standing = (overview?.queues ?? []).filter(isStanding);
  const rows = [...standing].sort((a, b) => b.items.dead - a.items.dead).slice(0, SHOWN);
  return (
    <Panel title="Queues and targets" actions={all}>
      {overview !== undefined && rows.length === 0 && (
        <p className="px-3 py-3 text-muted">There are no queues.</p>
      )}
      <ul className="divide-y divide-line">
        {rows.map((queue) => (
          <Line key={queue.queue} link={linkOf(queue)} name={queue.name} state={stateOf(queue)}>
            <Counts queue={queue} />
          </Line>
        ))}
      </ul>
    </Panel>
  );
}

/** The numbers of ready, running and dead items, without zeros. */
function Counts({ queue: { items, oldest_ready_seconds: oldest } }: { readonly queue: QueueSummary }) {
  const since = oldest === null ? "" : ` for ${durationText(oldest * 1000)}`;
  const parts = [
    items.ready > 0 && `${countText(items.ready)} ready${since}`,
    items.leased > 0 && `${countText(items.leased)} running`,
  ].filter(Boolean);
  if (parts.length === 0 && items.dead === 0) return "idle";
  return (
    <>
      {parts.join(" · ")}
      {items.dead > 0 && (
        <span className="text-red">
          {parts.length > 0 && " · "}
          {countText(items.dead)} dead
        </span>
      )}
    </>
  );
}

/** The state of a queue; nothing if it is normal. */
function stateOf({ is_paused: isPaused, breaker }: QueueSummary): ReactNode {
  if (isPaused) return <State name="paused" />;
  return breaker === "open" ? <State name="dead" label="breaker open" /> : null;
}

interface LineProps {
  readonly link: LinkProps;
  readonly name: string;
  readonly state?: ReactNode;
  readonly progress?: ReactNode;
  readonly children: ReactNode;
}

function Line({ link, name, state, progress, children }: LineProps) {
  return (
    <li>
      <Link {...link} className="block px-3 py-2 hover:bg-grey-soft">
        <span className="flex items-center gap-2">
          <MiddleText text={name} className="min-w-0 flex-1" />
          {state}
          <span className="shrink-0 text-xs text-muted">{children}</span>
        </span>
        {progress !== undefined && <span className="mt-1.5 block">{progress}</span>}
      </Link>
    </li>
  );
}
