/** The page of an item of a queue or job in any state: data, result, attempts, output and notes. */

import { getRouteApi, Link } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { headline, itemTexts } from "../data/letter.ts";
import { quoted } from "../data/search.ts";
import { useRoute } from "../data/use-route.ts";
import { CopyButton } from "../ui/copy.tsx";
import { formatExact, JsonView } from "../ui/json-view.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { plural } from "../ui/numbers.ts";
import { Heading, Panel } from "../ui/panel.tsx";
import { State, wordOf } from "../ui/state.tsx";
import { durationText, Time } from "../ui/time.tsx";
import { AttemptLog, LiveLog } from "./item-log.tsx";
import { QueueLink } from "./queue-link.tsx";

type ItemDetails = ResponseOf<"GET /items/{queue}/{item_id}">;
type Attempt = ItemDetails["attempt_history"][number];

const route = getRouteApi("/items/$queue/$item");

export function Item() {
  const { queue, item: id } = route.useParams();
  const params = { queue, item_id: id };
  const item = useRoute("item", "GET /items/{queue}/{item_id}", { params });
  return <Loaded query={item}>{(data) => <Shown item={data} />}</Loaded>;
}

function Shown({ item }: { readonly item: ItemDetails }) {
  const { queue, item_id: id } = item;
  const params = { queue, item_id: id };
  const { state, attempts, revision, data, result, attempt_history: history, due_at } = item;
  const hasLog = history.some(({ log }) => log !== undefined);
  return (
    <>
      <Heading
        title={itemTexts(id, data, item.name).title}
        facts={
          <>
            <State name={state} label={wordOf(state)} />
            <QueueLink queue={queue} />
            <span>{plural(attempts, "attempt")}</span>
            {revision > 1 && <span>revision {revision}</span>}
            {(state === "ready" || state === "held") && (
              <span>
                due <Time at={due_at} />
              </span>
            )}
            {itemTexts(id, data, item.name).title !== id && <span className="font-mono text-xs">{id}</span>}
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
        <Panel title="Data" actions={<CopyButton text={formatExact(data)} label="Copy JSON" />}>
          <JsonView text={JSON.stringify(data) ?? "null"} />
        </Panel>
        <Panel title="Result">
          {result === null ? (
            <p className="px-3 py-3 text-muted">
              {state === "done" ? "It returned nothing." : "There is no result yet."}
            </p>
          ) : (
            <JsonView text={JSON.stringify(result) ?? "null"} />
          )}
        </Panel>
        <Panel title={`Attempts (${history.length})`}>
          <ol className="divide-y divide-line">
            {history.map((attempt, index) => (
              <li key={attempt.started_at} className="flex gap-3 px-3 py-1.5">
                <span className="w-6 text-right">{index + 1}</span>
                <State name={attempt.outcome} />
                <Time at={attempt.started_at} />
                <span className="whitespace-nowrap text-muted">{tookText(attempt)}</span>
                <span className="min-w-0 flex-1 truncate" title={messageOf(attempt)}>
                  {headline(messageOf(attempt))}
                </span>
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

/** Why the attempt failed; empty if it did not. */
function messageOf({ failure }: Attempt): string {
  return (failure as { readonly error_message?: string } | undefined)?.error_message ?? "";
}

/** The API returns an end time only for attempts that have ended. */
function tookText({ started_at: start, ended_at: end }: Attempt): string {
  return typeof end === "string" ? durationText(Date.parse(end) - Date.parse(start)) : "";
}
