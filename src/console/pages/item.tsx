/** One item of a queue or job, whatever its state: data, result, attempts, output and notes. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { call, urlOf } from "../data/api.ts";
import { quoted } from "../data/search.ts";
import { JsonView } from "../ui/json-view.tsx";
import { Output } from "../ui/output.tsx";
import { ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { State } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";

const route = getRouteApi("/items/$queue/$item");

export function Item() {
  const { queue, item: id } = route.useParams();
  const params = { queue, item_id: id };
  const item = useQuery({
    queryKey: ["item", queue, id],
    queryFn: ({ signal }) => call("GET /items/{queue}/{item_id}", { params }, { signal }),
  });
  if (item.error) return <ErrorPanel error={item.error} retry={() => void item.refetch()} />;
  if (!item.data) return <Skeleton rows={6} />;
  const { state, attempts, revision, data, result, attempt_history: history, due_at } = item.data;
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
        <LiveOutput
          queue={queue}
          item={id}
          isRunning={state === "leased"}
          hasLog={history.some(({ log }) => log !== undefined)}
        />
      </div>
    </>
  );
}

interface LiveOutputProps {
  readonly queue: string;
  readonly item: string;
  readonly isRunning: boolean;
  readonly hasLog: boolean;
}

/** Follows the output while an attempt runs, and reads the last one otherwise. */
function LiveOutput({ queue, item, isRunning, hasLog }: LiveOutputProps) {
  const [text, setText] = useState("");
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    const params = { queue, item_id: item };
    setText("");
    setMissing(false);
    if (isRunning) {
      const source = new EventSource(urlOf("GET /items/{queue}/{item_id}/log/tail", { params }));
      source.addEventListener("output", ({ data }) => setText((old) => old + textOf(String(data))));
      source.addEventListener("ended", () => source.close());
      source.onerror = () => source.close();
      return () => source.close();
    }
    if (!hasLog) return setMissing(true);
    const abort = new AbortController();
    call("GET /items/{queue}/{item_id}/log", { params }, { signal: abort.signal })
      .then((response) => response.text())
      .then(setText)
      .catch(() => setMissing(!abort.signal.aborted));
    return () => abort.abort();
  }, [queue, item, isRunning, hasLog]);
  return (
    <Panel title={isRunning ? "Output, live" : "Output of the last attempt"}>
      {isMissing ? (
        <p className="px-3 py-4 text-muted">No output was kept.</p>
      ) : (
        <Output text={text} label="Output" />
      )}
    </Panel>
  );
}

/** An event carries its text as JSON, because a line of output may end in the middle. */
function textOf(data: string): string {
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value === "string") return value;
    return typeof value === "object" && value !== null && "text" in value ? String(value.text) : data;
  } catch {
    return data;
  }
}
