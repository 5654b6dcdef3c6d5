/** What needs attention now. Every number links to the rows that it counts. */
import { useQuery } from "@tanstack/react-query";
import { Link, type LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call } from "../data/api.ts";
import type { Group } from "../data/letter.ts";
import { countText, plural } from "../ui/numbers.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { Pattern } from "../ui/pattern.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { State } from "../ui/state.tsx";
import { durationText, Time } from "../ui/time.tsx";

const SHOWN = 8;

export function Overview() {
  return (
    <>
      <Heading title="Overview" command="redrive overview" />
      <Tiles />
      <div className="mt-3 grid grid-cols-1 items-start gap-3 xl:grid-cols-2">
        <NewGroups />
        <div className="min-w-0 space-y-3">
          <Running />
          <QueueSummary />
        </div>
      </div>
    </>
  );
}

function useQueues() {
  return useQuery({ queryKey: ["queues"], queryFn: ({ signal }) => call("GET /queues", {}, { signal }) });
}

function Tiles() {
  const dead = useQuery({
    queryKey: ["letters", "count", "dead"],
    queryFn: ({ signal }) => call("GET /letters/count", { query: { state: ["dead"] } }, { signal }),
  });
  const retrying = useQuery({
    queryKey: ["letters", "count", "retrying"],
    queryFn: ({ signal }) =>
      call("GET /letters/count", { query: { state: ["ready", "leased"] } }, { signal }),
  });
  const groups = useQuery({
    queryKey: ["groups", "tiles"],
    queryFn: ({ signal }) => call("GET /groups", { query: { limit: 1 } }, { signal }),
  });
  const arrivals = useQuery({
    queryKey: ["letters", "arrivals"],
    queryFn: ({ signal }) =>
      call("GET /arrivals", { query: { bucket: "1h", newer_than: "24h" } }, { signal }),
  });
  const queues = useQueues().data?.queues ?? [];
  const oldest = Math.max(0, ...queues.map(({ oldest_ready_ms: ms }) => ms ?? 0));
  const workers = queues.reduce((sum, queue) => sum + queue.workers.length, 0);
  const running = queues.reduce((sum, { counts }) => sum + (counts.leased ?? 0), 0);
  return (
    <div className="grid grid-cols-2 gap-3 md:grid-cols-3 xl:grid-cols-6">
      <Tile
        title="Dead letters"
        link={{ to: "/letters", search: { state: "dead" } }}
        value={dead.data?.total}
        isBad={(dead.data?.total ?? 0) > 0}
      />
      <Tile
        title="Open groups"
        link={{ to: "/groups" }}
        value={groups.data?.total}
        isBad={(groups.data?.total ?? 0) > 0}
      />
      <Tile
        title="Retrying"
        link={{ to: "/letters", search: { state: "ready" } }}
        value={retrying.data?.total}
      />
      <Tile title="Running now" link={{ to: "/workers" }} value={running} note={plural(workers, "worker")} />
      <Tile
        title="Oldest waiting"
        link={{ to: "/queues" }}
        text={oldest === 0 ? "–" : durationText(oldest)}
      />
      <div className="rounded-lg border border-line bg-panel p-3 max-md:col-span-2">
        <p className="text-muted">Letters, 24 h</p>
        {arrivals.data && (
          <Sparkline counts={arrivals.data.counts} label="letters in 24 h" width={150} height={36} />
        )}
      </div>
    </div>
  );
}

interface TileProps {
  readonly title: string;
  readonly link: LinkProps;
  readonly value?: number | undefined;
  readonly text?: string;
  readonly note?: string;
  readonly isBad?: boolean;
}

function Tile({ title, link, value, text, note, isBad = false }: TileProps) {
  return (
    <Link {...link} className="block rounded-lg border border-line bg-panel p-3 hover:border-line-strong">
      <p className="text-muted">{title}</p>
      <p
        className={`text-xl font-semibold ${isBad ? "text-red" : ""}`}
        title={value?.toLocaleString("en-US")}
      >
        {text ?? (value === undefined ? "…" : countText(value))}
      </p>
      {note !== undefined && <p className="text-xs text-muted">{note}</p>}
    </Link>
  );
}

function NewGroups() {
  const groups = useQuery({
    queryKey: ["groups", "overview"],
    queryFn: ({ signal }) => call("GET /groups", { query: { limit: SHOWN, trend: true } }, { signal }),
  });
  return (
    <Panel
      title="What fails"
      actions={
        <Link to="/groups" className="text-accent hover:underline">
          All groups
        </Link>
      }
    >
      {groups.isPending && <Skeleton />}
      {groups.error && <ErrorPanel error={groups.error} retry={() => void groups.refetch()} />}
      {groups.data?.groups.length === 0 && (
        <Empty title="Nothing has failed." command="redrive demo">
          <p>Groups of failures appear here. The demo creates some.</p>
        </Empty>
      )}
      <ul className="divide-y divide-line">
        {groups.data?.groups.map((group) => (
          <GroupLine key={group.signature} group={group} />
        ))}
      </ul>
    </Panel>
  );
}

function GroupLine({ group }: { readonly group: Group }) {
  const { signature, title, count, error_type, location, jobs, is_regression, last_occurrence } = group;
  const counts = (group.arrivals as number[] | undefined) ?? [];
  return (
    <li>
      <Link
        to="/groups/$signature"
        params={{ signature }}
        className="flex items-center gap-3 px-3 py-2 hover:bg-grey-soft"
      >
        <span className="min-w-0 flex-1">
          <span className="block truncate font-medium">
            {is_regression && <State name="regressed" label="came back" />} <Pattern text={title} />
          </span>
          <span className="block truncate text-xs text-muted">
            {[error_type, location, jobs.join(", ")].filter(Boolean).join(" · ")}
          </span>
        </span>
        <span className="max-sm:hidden">
          <Sparkline counts={counts} label="letters in 24 h" width={72} />
        </span>
        <span className="w-14 text-right font-medium">{countText(count)}</span>
        <span className="w-20 text-right text-xs text-muted max-sm:hidden">
          <Time at={last_occurrence} />
        </span>
      </Link>
    </li>
  );
}

function Running() {
  const operations = useQuery({
    queryKey: ["operations", "open"],
    queryFn: ({ signal }) => call("GET /operations", { query: { open: true } }, { signal }),
  });
  const jobs = useQuery({
    queryKey: ["jobs", "overview"],
    queryFn: ({ signal }) => call("GET /jobs", { query: { limit: SHOWN } }, { signal }),
  });
  const open = operations.data?.operations ?? [];
  const running = (jobs.data?.jobs ?? []).filter(
    ({ status }) => status === "running" || status === "interrupted",
  );
  return (
    <Panel title="Running now">
      {open.length + running.length === 0 && (
        <p className="px-3 py-4 text-muted">No job and no operation is running.</p>
      )}
      <ul className="divide-y divide-line">
        {open.map(({ operation_id: id, kind, job_id, selected, remaining, status }) => (
          <li key={id}>
            <Line
              link={{ to: "/operations/$id", params: { id } }}
              name={`${kind} of ${job_id}`}
              state={status}
            >
              {countText(selected - remaining)} of {countText(selected)}
            </Line>
          </li>
        ))}
        {running.map(({ job_id: id, status, succeeded, total, dead }) => (
          <li key={id}>
            <Line link={{ to: "/jobs/$id", params: { id } }} name={id} state={status}>
              {countText(succeeded)} of {countText(total)}
              {dead > 0 && <span className="text-red"> · {countText(dead)} dead</span>}
            </Line>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

interface LineProps {
  readonly link: LinkProps;
  readonly name: string;
  readonly state: string;
  readonly children: ReactNode;
}

function Line({ link, name, state, children }: LineProps) {
  return (
    <Link {...link} className="flex items-center gap-3 px-3 py-2 hover:bg-grey-soft">
      <State name={state} />
      <span className="min-w-0 flex-1 truncate">{name}</span>
      <span className="text-muted">{children}</span>
    </Link>
  );
}

function QueueSummary() {
  const queues = useQueues();
  const rows = [...(queues.data?.queues ?? [])]
    .sort((a, b) => (b.counts.letters ?? 0) - (a.counts.letters ?? 0))
    .slice(0, SHOWN);
  return (
    <Panel
      title="Queues"
      actions={
        <Link to="/queues" className="text-accent hover:underline">
          All queues
        </Link>
      }
    >
      {queues.error && <ErrorPanel error={queues.error} retry={() => void queues.refetch()} />}
      {queues.data && rows.length === 0 && <p className="px-3 py-4 text-muted">There are no queues.</p>}
      <ul className="divide-y divide-line">
        {rows.map(({ name, counts, is_paused, breaker }) => (
          <li key={name}>
            <Line
              link={{ to: "/queues/$name", params: { name } }}
              name={name}
              state={is_paused ? "paused" : breaker ? "open" : "active"}
            >
              {countText(counts.ready ?? 0)} ready · {countText(counts.leased ?? 0)} running
              {(counts.letters ?? 0) > 0 && (
                <span className="text-red"> · {countText(counts.letters ?? 0)} dead</span>
              )}
            </Line>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
