/**
 * What needs attention besides failures, e.g. a queue without workers, an interrupted job, an open breaker.
 */

import { Link, type LinkProps } from "@tanstack/react-router";
import { isStanding, linkOf, type QueueSummary, type useOverview } from "../data/overview.ts";
import { useRoute } from "../data/use-route.ts";
import { countText, plural } from "../ui/numbers.ts";
import { Panel } from "../ui/panel.tsx";
import { durationText } from "../ui/time.tsx";

interface Concern {
  readonly key: string;
  readonly text: string;
  /** The recommended action. */
  readonly advice: string;
  readonly link: LinkProps;
  readonly isBad: boolean;
}

const JOBS_READ = 20;
const SHOWN = 6;

export function Attention({ overview }: { readonly overview: ReturnType<typeof useOverview>["data"] }) {
  const jobs = useRoute("jobs", "GET /jobs", { query: { limit: JOBS_READ } });
  if (overview === undefined || jobs.data === undefined) return null;
  const concerns = [
    ...storeConcerns(overview.store_write_failures),
    ...overview.queues.flatMap(queueConcerns),
    ...jobs.data.jobs
      .filter(({ status, dismissed }) => !dismissed && UNFINISHED.includes(status))
      .map(jobConcern),
  ].sort((a, b) => Number(b.isBad) - Number(a.isBad));
  const more = concerns.length - SHOWN;
  return (
    <Panel title="Needs attention">
      {concerns.length === 0 && (
        <p className="px-3 py-3 text-muted">
          <span aria-hidden="true" className="text-green">
            ✓{" "}
          </span>
          Workers, queues, jobs and the store are fine.
        </p>
      )}
      <ul className="divide-y divide-line">
        {concerns.slice(0, SHOWN).map(({ key, text, advice, link, isBad }) => (
          <li key={key}>
            <Link {...link} className="flex gap-2 px-3 py-2 hover:bg-grey-soft">
              <span
                aria-hidden="true"
                className={`w-3 shrink-0 text-center ${isBad ? "text-red" : "text-amber"}`}
              >
                {isBad ? "✕" : "!"}
              </span>
              <span className="min-w-0">
                <span className="block break-words">{text}</span>
                <span className="block text-xs text-muted">{advice}</span>
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {more > 0 && <p className="border-t border-line px-3 py-2 text-muted">and {countText(more)} more</p>}
    </Panel>
  );
}

function storeConcerns(failures: number): readonly Concern[] {
  if (failures === 0) return [];
  const text = `The store refused ${plural(failures, "write")}.`;
  return [{ key: "store", text, advice: "Check the errors", link: { to: "/errors" }, isBad: true }];
}

function queueConcerns(queue: QueueSummary): readonly Concern[] {
  const { name, items, workers, is_paused: isPaused, breaker, oldest_ready_seconds: oldest } = queue;
  const key = `queue ${queue.queue}`;
  const link = linkOf(queue);
  if (breaker === "open") {
    const advice = "It retries automatically; check the newest failures";
    return [{ key, text: `The circuit breaker of ${name} is open.`, advice, link, isBad: true }];
  }
  if (isPaused) return [{ key, text: `${name} is paused.`, advice: "Resume it", link, isBad: false }];
  if (!isStanding(queue) || items.ready === 0 || workers > 0) return [];
  const since = oldest === null ? "" : ` for ${durationText(oldest * 1000)}`;
  const text = `${plural(items.ready, "item")} of ${name} ${items.ready === 1 ? "waits" : "wait"}${since}, and no worker runs.`;
  return [{ key, text, advice: "Start a worker", link, isBad: true }];
}

const UNFINISHED: readonly string[] = ["interrupted", "stopped", "failed"];

function jobConcern(job: {
  readonly job_id: string;
  readonly status: string;
  readonly remaining: number;
}): Concern {
  const { job_id: id, status, remaining } = job;
  const how = status === "failed" ? "failed" : `was ${status}`;
  return {
    key: `job ${id}`,
    text: `${id} ${how}${remaining > 0 ? ` with ${plural(remaining, "item")} left` : ""}.`,
    advice: "Resume or dismiss it",
    link: { to: "/jobs/$id", params: { id } },
    isBad: status === "failed",
  };
}
