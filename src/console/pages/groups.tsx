/** Groups, the inbox: one row for each cause. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { call } from "../data/api.ts";
import type { Group } from "../data/letter.ts";
import { GROUP_STATES, quoted } from "../data/search.ts";
import { Chips, SearchBox } from "../ui/filter.tsx";
import { countText } from "../ui/numbers.ts";
import { Empty, ErrorPanel, Heading, Panel, Skeleton } from "../ui/panel.tsx";
import { Pattern } from "../ui/pattern.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { State } from "../ui/state.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

const route = getRouteApi("/groups");

const COLUMNS: readonly Column<Group>[] = [
  {
    key: "error",
    title: "Error",
    track: "minmax(0, 1fr)",
    cell: ({ signature, title, location, error_type }) => (
      <span className="block leading-5">
        <Link
          to="/groups/$signature"
          params={{ signature }}
          className="block truncate font-medium hover:underline"
        >
          <Pattern text={title} />
        </Link>
        <span className="block truncate text-xs text-muted">
          {[error_type, location].filter(Boolean).join(" · ")}
        </span>
      </span>
    ),
  },
  { key: "count", title: "Letters", track: "72px", align: "right", cell: ({ count }) => countText(count) },
  {
    key: "trend",
    title: "24 h",
    track: "104px",
    secondary: true,
    cell: ({ arrivals }) => (
      <Sparkline counts={(arrivals as number[] | undefined) ?? []} label="letters in 24 h" />
    ),
  },
  {
    key: "jobs",
    title: "Queue or job",
    track: "150px",
    secondary: true,
    cell: ({ jobs }) => (
      <span title={jobs.join(", ")}>{jobs.length > 1 ? `${jobs[0]} +${jobs.length - 1}` : jobs[0]}</span>
    ),
  },
  {
    key: "first",
    title: "First",
    track: "84px",
    secondary: true,
    cell: (group) => <Time at={group.first_occurrence} />,
  },
  { key: "last", title: "Last", track: "84px", cell: (group) => <Time at={group.last_occurrence} /> },
  {
    key: "state",
    title: "State",
    track: "104px",
    secondary: true,
    cell: (group) =>
      group.is_regression ? <State name="regressed" label="came back" /> : <State name={group.state} />,
  },
];

export function Groups() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/groups" });
  const { state = "open", queue, q } = search;
  const groups = useInfiniteQuery({
    queryKey: ["groups", search],
    queryFn: ({ pageParam, signal }) =>
      call(
        "GET /groups",
        {
          query: {
            state: [state],
            trend: true,
            ...(queue !== undefined && { queue }),
            ...(pageParam && { cursor: pageParam }),
            limit: 50,
          },
        },
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
  });
  const all = groups.data?.pages.flatMap((page) => page.groups) ?? [];
  const rows =
    q === undefined ? all : all.filter(({ title }) => title.toLowerCase().includes(q.toLowerCase()));
  const first = groups.data?.pages[0];
  const command = `redrive groups${state === "open" ? "" : ` --state ${state}`}${queue ? ` --queue ${quoted(queue)}` : ""}`;
  return (
    <>
      <Heading
        title="Groups"
        facts={first && `${countText(first.total)} ${state === "all" ? "" : state} groups`}
        command={command}
      />
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <Chips
          label="State"
          values={GROUP_STATES}
          value={state}
          onChange={(next) => void navigate({ search: { ...search, state: next } })}
        />
        <SearchBox
          label="Search titles"
          value={q ?? ""}
          onChange={(next) =>
            void navigate({
              search: (old) => ({ ...old, q: next || undefined }) as typeof search,
              replace: true,
            })
          }
        />
        {queue !== undefined && (
          <button
            type="button"
            className="rounded-full border border-line-strong px-2.5 py-0.5 text-xs"
            onClick={() => void navigate({ search: ({ queue: _, ...rest }) => rest })}
          >
            queue: {queue} ✕
          </button>
        )}
      </div>
      <Panel>
        {groups.isPending && <Skeleton rows={8} />}
        {groups.error && <ErrorPanel error={groups.error} retry={() => void groups.refetch()} />}
        {groups.data && rows.length === 0 && (
          <NoGroups state={state} hasFilter={q !== undefined || queue !== undefined} />
        )}
        {rows.length > 0 && (
          <Table
            label="Groups of letters with the same failure"
            columns={COLUMNS}
            rows={rows}
            rowHeight={52}
            keyOf={({ signature }) => signature}
            onOpen={({ signature }) => void navigate({ to: "/groups/$signature", params: { signature } })}
            onEndReached={() => {
              if (groups.hasNextPage && !groups.isFetchingNextPage) void groups.fetchNextPage();
            }}
          />
        )}
      </Panel>
    </>
  );
}

function NoGroups({ state, hasFilter }: { readonly state: string; readonly hasFilter: boolean }) {
  if (hasFilter) return <Empty title="No group matches this filter." />;
  if (state !== "open") return <Empty title={`There are no ${state} groups.`} />;
  return (
    <Empty title="Nothing has failed." command="redrive demo">
      <p>A group appears here when an item has used all of its retries.</p>
    </Empty>
  );
}
