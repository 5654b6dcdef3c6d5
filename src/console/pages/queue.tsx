/** The page of a queue: its items by state, workers and settings, with pause and a form to add an item. */

import { getRouteApi, Link, Navigate } from "@tanstack/react-router";
import { useState } from "react";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { linkOf, useOverview, useQueueSummary } from "../data/overview.ts";
import { quoted } from "../data/search.ts";
import { useRoute } from "../data/use-route.ts";
import { May } from "../shell/session.tsx";
import { PauseAction } from "../ui/action.tsx";
import { Button } from "../ui/button.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { countText, machineName, plural } from "../ui/numbers.ts";
import { Empty, Heading, Panel } from "../ui/panel.tsx";
import { durationText } from "../ui/time.tsx";
import { AddItem } from "./add-item.tsx";
import { ItemList } from "./item-list.tsx";
import { LettersOverTime } from "./letters-over-time.tsx";
import { QueueSettings } from "./queue-settings.tsx";
import { QueueState } from "./queues.tsx";
import { RunningItems } from "./running-items.tsx";
import { Throughput } from "./throughput.tsx";

const route = getRouteApi("/queues/$name");
export type QueueDetails = ResponseOf<"GET /queues/{queue}">;

export function Queue() {
  const { name } = route.useParams();
  const queue = useRoute("queue", "GET /queues/{queue}", { params: { queue: name } });
  const other = useQueueSummary(name);
  // The queues of jobs and targets have their own pages.
  if (other !== undefined && other.kind !== "queue") return <Navigate {...linkOf(other)} replace />;
  return <Loaded query={queue}>{(data) => <Shown queue={data} />}</Loaded>;
}

function Shown({ queue }: { readonly queue: QueueDetails }) {
  const { name, counts } = queue;
  const [isAdding, setAdding] = useState(false);
  const overview = useOverview({ polls: true });
  return (
    <>
      <Heading
        title={name}
        facts={
          <>
            <QueueState queue={queue} />
            <span>{plural(queue.workers.length, "worker")}</span>
            {queue.oldest_ready_ms !== null && (
              <span>oldest ready item waits {durationText(queue.oldest_ready_ms)}</span>
            )}
            {queue.waited_ms !== undefined && (
              <span
                title={`of the ${plural(queue.waited_ms.items, "item")} that started last, from when they were due`}
              >
                waiting time p50 {durationText(queue.waited_ms.p50)}, p95 {durationText(queue.waited_ms.p95)}
              </span>
            )}
            <Link
              to="/letters"
              search={{ queue: name }}
              className={(counts.letters ?? 0) > 0 ? "text-red hover:underline" : "hover:underline"}
            >
              {countText(counts.letters ?? 0)} letters
            </Link>
          </>
        }
        about={queue.description}
        command={`redrive queue show ${quoted(name)}`}
        actions={
          <May atLeast="operator">
            <PauseAction
              isPaused={queue.is_paused}
              pause={() => call("POST /queues/{queue}/pause", { params: { queue: name }, body: {} })}
              resume={() => call("POST /queues/{queue}/resume", { params: { queue: name } })}
            />
            <Button onClick={() => setAdding(true)}>Add an item…</Button>
          </May>
        }
      />
      <div className="grid grid-cols-1 items-start gap-3 xl:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
        <div className="min-w-0 space-y-3">
          <RunningItems job={name} isActive={false} />
          <ItemList queue={name} counts={counts} />
        </div>
        <div className="min-w-0 space-y-3">
          <LettersOverTime scope={{ queue: name }} topic="queue" />
          <Throughput overview={overview.data} queue={name} />
          <QueueSettings queue={queue} />
          <Panel title="Workers">
            {queue.workers.length === 0 && (
              <Empty
                title="No worker is running."
                command={`redrive worker --queue ${quoted(name)} -- ./process {}`}
              />
            )}
            <ul className="divide-y divide-line">
              {queue.workers.map(({ holder, host, pid, leased }) => (
                <li key={holder} className="flex flex-wrap gap-x-3 px-3 py-2">
                  <span className="font-medium">{machineName(host)}</span>
                  <span className="text-muted">process {pid}</span>
                  <span className="text-muted">{countText(leased)} running</span>
                </li>
              ))}
            </ul>
          </Panel>
        </div>
      </div>
      {isAdding && <AddItem queue={queue} onClose={() => setAdding(false)} />}
    </>
  );
}
