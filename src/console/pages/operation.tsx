/** One operation: live progress, what was refused and why, and pause, cancel or undo. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { quoted } from "../data/search.ts";
import { May } from "../shell/session.tsx";
import { Action } from "../ui/action.tsx";
import { SameAsCommand } from "../ui/copy.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { countText } from "../ui/numbers.ts";
import { Heading, Panel } from "../ui/panel.tsx";
import { Progress } from "../ui/progress.tsx";
import { State } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { operationState } from "./operations.tsx";

const route = getRouteApi("/operations/$id");
type OperationDetails = ResponseOf<"GET /operations/{operation_id}">;

const POLL_MS = 1500;
const UNDOABLE: readonly string[] = ["edit", "discard", "restore", "purge", "clear"];

export function OperationPage() {
  const { id } = route.useParams();
  const operation = useQuery({
    queryKey: ["operation", id],
    queryFn: ({ signal }) =>
      call("GET /operations/{operation_id}", { params: { operation_id: id } }, { signal }),
    // Progress is not an event of its own, so it is read while the operation runs.
    refetchInterval: ({ state }) => (state.data?.ended_at === undefined ? POLL_MS : false),
  });
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
        title={`${kind} in ${job_id}`}
        facts={
          <>
            <State name={operationState(operation)} />
            <span>
              by {operation.author}, <Time at={operation.created_at} />
            </span>
            {operation.reason !== undefined && <span>“{operation.reason}”</span>}
          </>
        }
        command={`redrive ops show ${id}`}
        actions={<Actions operation={operation} />}
      />
      <Panel className="mb-3">
        <div className="p-3">
          <Progress done={kind === "redrive" ? succeeded : done} dead={failed + refused} total={selected} />
          <dl className="mt-3 flex flex-wrap gap-x-8 gap-y-2" aria-live="polite">
            {Object.entries(counts).map(([name, count]) => (
              <div key={name}>
                <dt className="text-muted">{name}</dt>
                <dd className="text-xl font-semibold">{countText(count)}</dd>
              </div>
            ))}
          </dl>
          <Stopped operation={operation} />
          {kind === "redrive" && operation.ended_at === undefined && <NoWorker queue={job_id} />}
        </div>
      </Panel>
      <div className="grid grid-cols-1 items-start gap-3 xl:grid-cols-2">
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
        <Panel title="Letters">
          <ul className="max-h-96 divide-y divide-line overflow-auto">
            {operation.letters.map(({ item_id: item, status, reason }) => (
              <li key={item} className="flex items-center gap-3 px-3 py-1.5">
                <State
                  name={status === "pending" ? "ready" : status === "refused" ? "skipped" : "done"}
                  label={status}
                />
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

/** Says why a canary stopped, which is the reason to look at the operation. */
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

/** Letters that were sent wait until a worker takes them. */
function NoWorker({ queue }: { readonly queue: string }) {
  const workers = useQuery({
    queryKey: ["queues", "workers"],
    queryFn: ({ signal }) => call("GET /workers", {}, { signal }),
    refetchInterval: POLL_MS,
  });
  if (!workers.data || workers.data.workers.some((worker) => worker.queue === queue)) return null;
  return (
    <div className="mt-3 flex flex-wrap items-center gap-2 rounded-md bg-amber-soft px-3 py-2 text-amber">
      No worker is running for {queue}. The letters wait until one is started:
      <SameAsCommand command={`redrive worker --queue ${quoted(queue)} -- COMMAND`} />
    </div>
  );
}

function Actions({ operation }: { readonly operation: OperationDetails }) {
  const { operation_id, kind, status, ended_at: endedAt } = operation;
  const params = { operation_id };
  const act = (verb: "pause" | "resume" | "cancel" | "undo") => () =>
    call(`POST /operations/{operation_id}/${verb}`, { params });
  const isEnded = endedAt !== undefined;
  return (
    <May atLeast="operator">
      {!isEnded && status === "open" && <Action label="Pause" act={act("pause")} />}
      {!isEnded && status === "paused" && <Action tone="primary" label="Resume" act={act("resume")} />}
      {!isEnded && <Action tone="danger" label="Cancel" act={act("cancel")} />}
      {isEnded && UNDOABLE.includes(kind) && <Action label="Undo" act={act("undo")} />}
    </May>
  );
}
