/** One item of a queue or job, whatever its state: data, result, attempts, output and notes. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { quoted } from "../data/search.ts";
import { JsonView } from "../ui/json-view.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { Heading, Panel } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";

import { AttemptLog, LiveLog } from "./item-log.tsx";

const route = getRouteApi("/items/$queue/$item");

export function Item() {
  const { queue, item: id } = route.useParams();
  const params = { queue, item_id: id };
  const item = useQuery({
    queryKey: ["item", queue, id],
    queryFn: ({ signal }) => call("GET /items/{queue}/{item_id}", { params }, { signal }),
  });
  return <Loaded query={item}>{(data) => <Shown item={data} />}</Loaded>;
}

function Shown({ item }: { readonly item: ResponseOf<"GET /items/{queue}/{item_id}"> }) {
  const { queue, item_id: id } = item;
  const params = { queue, item_id: id };
  const { state, attempts, revision, data, result, attempt_history: history, due_at } = item;
  const hasLog = history.some(({ log }) => log !== undefined);
  return (
    <>
      <Heading
        title={<span className="font-mono text-lg">{id}</span>}
        facts={
          <>
            <State name={state} />
            <Link to="/queues/$name" params={{ name: queue }} className="hover:underline">
              {queue}
            </Link>
            <span>{attempts} attempts</span>
            <span>revision {revision}</span>
            <span>
              due <Time at={due_at} />
            </span>
            {state === "dead" && (
              <Link
                to="/letters/$queue/$item"
                params={{ queue, item: id }}
                className="text-accent hover:underline"
              >
                Open its letter
              </Link>
            )}
          </>
        }
        command={`redrive queue show ${quoted(queue)} ${quoted(id)}`}
      />
      <div className="grid grid-cols-1 items-start gap-3 xl:grid-cols-2">
        <Panel title="Data">
          <JsonView text={JSON.stringify(data) ?? "null"} />
        </Panel>
        <Panel title="Result">
          <JsonView text={JSON.stringify(result) ?? "null"} />
        </Panel>
        <Panel title={`Attempts (${history.length})`}>
          <ol className="divide-y divide-line">
            {history.map((attempt, index) => (
              <li key={attempt.started_at} className="flex gap-3 px-3 py-1.5">
                <span className="w-6 text-right">{index + 1}</span>
                <State name={attempt.outcome} />
                <Time at={attempt.started_at} />
              </li>
            ))}
          </ol>
        </Panel>
        <Panel title={state === "leased" ? "Output, live" : "Output of the last attempt"}>
          {state === "leased" && <LiveLog params={params} />}
          {state !== "leased" && hasLog && <AttemptLog params={params} />}
          {state !== "leased" && !hasLog && <p className="px-3 py-4 text-muted">No output was kept.</p>}
        </Panel>
      </div>
    </>
  );
}
