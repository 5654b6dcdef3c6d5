/** The counts at the top of the overview. Each links to the rows that it counts. */

import { Link, type LinkProps } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { linkOf, type QueueSummary, sumOf, type useOverview, useRates } from "../data/overview.ts";
import { useRoute } from "../data/use-route.ts";
import { countText, plural } from "../ui/numbers.ts";
import { durationText } from "../ui/time.tsx";

interface TilesProps {
  readonly dead: number | undefined;
  readonly groups: ResponseOf<"GET /groups"> | undefined;
  readonly overview: ReturnType<typeof useOverview>["data"];
}

export function Tiles({ dead, groups, overview }: TilesProps) {
  const retrying = useRoute("letters", "GET /letters/count", { query: { state: ["ready", "leased"] } });
  const arrivals = useRoute("letters", "GET /arrivals", { query: { bucket: "1h", newer_than: "24h" } });
  const { perMinute } = useRates(overview);
  const queues = overview?.queues ?? [];
  const waiting = queues.filter(({ oldest_ready_seconds: seconds }) => seconds !== null);
  const oldest = waiting.sort((a, b) => Number(b.oldest_ready_seconds) - Number(a.oldest_ready_seconds))[0];
  const counts = arrivals.data?.counts ?? [];
  return (
    <div className="grid grid-cols-2 gap-3 md:grid-cols-5">
      <Tile
        title="Dead letters"
        link={{ to: "/letters", search: { state: "dead" } }}
        value={dead}
        isBad={(dead ?? 0) > 0}
        note={counts.length > 0 && `${countText(counts.reduce((sum, one) => sum + one, 0))} in 24 h`}
      />
      <Tile
        title="Open groups"
        link={{ to: "/groups" }}
        value={groups?.total}
        isBad={(groups?.total ?? 0) > 0}
        note={groups && `${countText(groups.left_out.resolved)} resolved`}
      />
      <Tile
        title="Retrying"
        link={{ to: "/letters", search: { state: "ready" } }}
        value={retrying.data?.total}
        note="letters being retried"
      />
      <Tile
        title="Running now"
        link={{ to: "/workers" }}
        value={overview && sumOf(queues, ({ items }) => items.leased)}
        note={overview && workersText(queues, perMinute)}
      />
      <Tile
        title="Oldest waiting"
        link={oldest === undefined ? { to: "/queues" } : linkOf(oldest)}
        text={oldest === undefined ? "–" : durationText(Number(oldest.oldest_ready_seconds) * 1000)}
        note={oldest === undefined ? "nothing waits" : `in ${oldest.name}`}
      />
    </div>
  );
}

/** The number of active workers, and the processing rate since the page was opened. */
function workersText(queues: readonly QueueSummary[], perMinute = 0): string {
  const workers = plural(
    sumOf(queues, (queue) => queue.workers),
    "worker",
  );
  return perMinute < 1 ? workers : `${workers}, ${countText(Math.round(perMinute))} items per minute`;
}

interface TileProps {
  readonly title: string;
  readonly link: LinkProps;
  readonly value?: number | undefined;
  readonly text?: string;
  readonly note?: string | false | undefined;
  readonly isBad?: boolean;
}

function Tile({ title, link, value, text, note, isBad = false }: TileProps) {
  const shown = text ?? (value === undefined ? undefined : countText(value));
  return (
    <Link
      {...link}
      className="flex min-w-0 flex-col max-md:last:col-span-2 rounded-lg border border-line bg-panel px-3 py-2.5 hover:border-line-strong"
    >
      <span className="text-muted">{title}</span>
      <span
        className={`mt-0.5 min-h-7 text-xl font-semibold ${isBad ? "text-red" : ""}`}
        title={value?.toLocaleString("en-US")}
      >
        {shown}
      </span>
      <span className="min-h-4 truncate text-xs text-muted">{note}</span>
    </Link>
  );
}
