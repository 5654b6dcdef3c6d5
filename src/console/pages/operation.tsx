/**
 * The page of an operation: live progress, what was refused and why, and buttons to pause, cancel or undo it.
 */

import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { type ListSearch, quoted } from "../data/search.ts";
import { useRoute } from "../data/use-route.ts";
import { useKeys } from "../shell/keys.ts";
import { May, useMay } from "../shell/session.tsx";
import { Action } from "../ui/action.tsx";
import { Button } from "../ui/button.tsx";
import { SameAsCommand } from "../ui/copy.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { countText } from "../ui/numbers.ts";
import { Heading, Panel } from "../ui/panel.tsx";
import { Progress } from "../ui/progress.tsx";
import { State } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { BulkDialog, type BulkTarget } from "./bulk.tsx";
import { OperationState, operationTitle, UndoAction, wellDone } from "./operations.tsx";

const route = getRouteApi("/operations/$id");
type OperationDetails = ResponseOf<"GET /operations/{operation_id}">;

const POLL_MS = 1500;

export function OperationPage() {
  const { id } = route.useParams();
  const operation = useRoute(
    "operation",
    "GET /operations/{operation_id}",
    { params: { operation_id: id } },
    {
      // Progress does not cause events, so it is polled while the operation runs.
      refetchInterval: ({ state }) => (state.data?.ended_at === undefined ? POLL_MS : false),
    },
  );
  return <Loaded query={operation}>{(data) => <Shown operation={data} />}</Loaded>;
}

function Shown({ operation }: { readonly operation: OperationDetails }) {
  const { operation_id: id, kind, job_id, selected, refused, remaining, succeeded, failed, done } = operation;
  const counts =
    kind === "redrive"
      ? { selected, sent: done, succeeded, "failed again": failed, refused, remaining }
      : { selected, done, refused, remaining };
  return (
    <>
      <Heading
        title={operationTitle(operation)}
        facts={
          <>
            <OperationState operation={operation} />
            <span>
              by {operation.author}, <Time at={operation.created_at} />
            </span>
            {operation.reason !== undefined && <span>“{operation.reason}”</span>}
            <Scope operation={operation} />
          </>
        }
        command={`redrive ops show ${id}`}
        actions={<Actions operation={operation} />}
      />
      <Panel className="mb-3">
        <div className="p-3">
          <Progress done={wellDone(operation)} dead={failed + refused} total={selected} />
          <dl className="mt-3 flex flex-wrap gap-x-8 gap-y-2" aria-live="polite">
            {Object.entries(counts).map(([name, count]) => (
              <div key={name}>
                <dt className="text-muted">{name}</dt>
                <dd className={`text-xl font-semibold ${isBad(name, count) ? "text-red" : ""}`}>
                  {countText(count)}
                </dd>
              </div>
            ))}
          </dl>
          <Stopped operation={operation} />
          {kind === "redrive" && operation.ended_at === undefined && <NoWorker queue={job_id} />}
        </div>
      </Panel>
      <div
        className={`grid grid-cols-1 items-start gap-3 ${operation.refusals.length > 0 ? "xl:grid-cols-2" : ""}`}
      >
        {operation.refusals.length > 0 && (
          <Panel title="Refused">
            <ul className="divide-y divide-line">
              {operation.refusals.map(({ reason, count }) => (
                <li key={reason} className="flex gap-3 px-3 py-2">
                  <span className="w-16 text-right font-medium">{countText(count)}</span>
                  <span>{reason}</span>
                </li>
              ))}
            </ul>
          </Panel>
        )}
        <Panel
          title={
            operation.letters.length < selected
              ? `${operation.letters.length} of its ${countText(selected)} letters`
              : "Letters"
          }
        >
          <ul className="max-h-96 divide-y divide-line overflow-auto">
            {operation.letters.map(({ item_id: item, status, reason }) => (
              <li key={item} className="flex items-center gap-3 px-3 py-1.5">
                <LetterState status={status} isRetry={kind === "redrive"} />
                <Link
                  to="/letters/$queue/$item"
                  params={{ queue: job_id, item }}
                  className="min-w-0 truncate hover:underline"
                >
                  {item}
                </Link>
                {reason !== undefined && <span className="text-muted">{reason}</span>}
              </li>
            ))}
          </ul>
        </Panel>
      </div>
    </>
  );
}

/** The group that the letters were selected by. */
function Scope({ operation: { filter } }: { readonly operation: OperationDetails }) {
  const [group, ...others] = Array.isArray(filter.group) ? filter.group : [];
  if (typeof group !== "string" || others.length > 0) return null;
  return (
    <Link to="/groups/$signature" params={{ signature: group }} className="text-accent hover:underline">
      Open the group
    </Link>
  );
}

function isBad(name: string, count: number): boolean {
  return count > 0 && (name === "failed again" || name === "refused");
}

/** An operation does not record whether a retried letter succeeded; only the letter's page shows it. */
function LetterState({ status, isRetry }: { readonly status: string; readonly isRetry: boolean }) {
  if (status === "pending") return <State name="ready" label="pending" />;
  if (status === "refused") return <State name="skipped" label="refused" />;
  return isRetry ? <State name="leased" label="sent" /> : <State name="done" />;
}

/** Explains why a canary stopped. */
function Stopped({ operation }: { readonly operation: OperationDetails }) {
  const by = operation.progress.stopped_by as
    | { readonly item_id?: string; readonly signature?: string }
    | undefined;
  if (by?.item_id === undefined) return null;
  return (
    <p role="alert" className="mt-3 rounded-md bg-amber-soft px-3 py-2 text-amber">
      The canary stopped: {by.item_id} failed again in the same way. The remaining letters were not sent.
    </p>
  );
}

/** Warns that nothing will run, because retried letters wait for a worker. */
function NoWorker({ queue }: { readonly queue: string }) {
  const workers = useRoute("queues", "GET /workers", {}, { refetchInterval: POLL_MS });
  if (!workers.data || workers.data.workers.some((worker) => worker.queue === queue)) return null;
  return (
    <div className="mt-3 flex flex-wrap items-center gap-2 rounded-md bg-amber-soft px-3 py-2 text-amber">
      No worker is running for {queue}. The letters wait until one is started:
      <SameAsCommand command={`redrive worker --queue ${quoted(queue)} -- COMMAND`} />
    </div>
  );
}

/** Filter conditions of operations that a list of letters supports, with their query parameters. */
const CONDITIONS = {
  group: "group",
  state: "state",
  class: "class",
  search: "q",
  filter: "filter",
  older_than: "older_than",
  newer_than: "newer_than",
} as const;

/**
 * The letters of the operation: their ids, or the filter that selected them. Null if no list can show exactly
 * these letters.
 */
function targetOf({ job_id: queue, filter, letters, selected }: OperationDetails): BulkTarget | null {
  // An edit may have changed fields that the filter tests, so ids are preferred if the response contains all
  // of them.
  if (letters.length === selected) return { queue, ids: letters.map(({ item_id }) => item_id) };
  const { queue: _, job: __, ids, age_of: ageOf, ...conditions } = filter;
  if (Array.isArray(ids)) return Object.keys(conditions).length === 0 ? { queue, ids } : null;
  // A list selects by the time of the last attempt only.
  const hasAge = conditions.older_than !== undefined || conditions.newer_than !== undefined;
  if (hasAge && ageOf !== "last") return null;
  const search: Partial<Record<keyof ListSearch, string>> = {};
  for (const [name, value] of Object.entries(conditions)) {
    const word = CONDITIONS[name as keyof typeof CONDITIONS];
    const text = Array.isArray(value) && value.length === 1 ? value[0] : value;
    // Omitting a condition would select more letters.
    if (word === undefined || typeof text !== "string") return null;
    search[word] = text;
  }
  return { queue, search };
}

/** Offers to retry the letters that an edit has changed. */
function RetryNext({ operation }: { readonly operation: OperationDetails }) {
  const [isOpen, setOpen] = useState(false);
  const mayChange = useMay("operator");
  const target = targetOf(operation);
  const isNext = mayChange && operation.kind === "edit" && operation.status === "ended" && operation.done > 0;
  useKeys(isNext ? { r: () => setOpen(true) } : {});
  if (!isNext || target === null) return null;
  return (
    <>
      <Button tone="primary" hotkey="r" onClick={() => setOpen(true)}>
        Retry these letters…
      </Button>
      {isOpen && <BulkDialog kind="retry" target={target} onClose={() => setOpen(false)} />}
    </>
  );
}

function Actions({ operation }: { readonly operation: OperationDetails }) {
  const { operation_id, status, ended_at: endedAt } = operation;
  const params = { operation_id };
  const act = (verb: "pause" | "resume" | "cancel") => () =>
    call(`POST /operations/{operation_id}/${verb}`, { params });
  const isEnded = endedAt !== undefined;
  return (
    <May atLeast="operator">
      {!isEnded && status === "open" && <Action label="Pause" act={act("pause")} />}
      {!isEnded && status === "paused" && <Action tone="primary" label="Resume" act={act("resume")} />}
      {!isEnded && <Action tone="danger" label="Cancel" act={act("cancel")} />}
      <UndoAction operation={operation} />
      <RetryNext operation={operation} />
    </May>
  );
}
