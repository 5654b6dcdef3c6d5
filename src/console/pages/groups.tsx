/** Groups, the inbox: one row for each cause. */
import { Link, useNavigate } from "@tanstack/react-router";
import { call } from "../data/api.ts";
import type { Group } from "../data/letter.ts";
import { usePages } from "../data/list.ts";
import { useListSearch } from "../data/list-search.ts";
import { GROUP_STATES, oneOf, quoted } from "../data/search.ts";
import { countColumn, LINK, TwoLines, textColumn, timeColumn } from "../ui/columns.tsx";
import { ListPage } from "../ui/list-page.tsx";
import { countText } from "../ui/numbers.ts";
import { Pattern } from "../ui/pattern.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";

const COLUMNS: readonly Column<Group>[] = [
  {
    key: "error",
    title: "Error",
    track: "minmax(0, 1fr)",
    cell: ({ signature, title, location, error_type }) => (
      <Link to="/groups/$signature" params={{ signature }} className={LINK}>
        <TwoLines
          first={<Pattern text={title} />}
          second={[error_type, location].filter(Boolean).join(" · ")}
        />
      </Link>
    ),
  },
  countColumn("count", "Letters", ({ count }) => count, { track: "72px" }),
  {
    key: "trend",
    title: "24 h",
    track: "104px",
    cell: ({ arrivals }) => <Sparkline counts={arrivals ?? []} label="letters in 24 h" />,
  },
  textColumn("jobs", "Queue or job", ({ jobs }) => jobs.join(", "), {
    track: "150px",
    cell: ({ jobs }) => (
      <span title={jobs.join(", ")}>{jobs.length > 1 ? `${jobs[0]} +${jobs.length - 1}` : jobs[0]}</span>
    ),
  }),
  timeColumn("first", "First", (group) => group.first_occurrence, { track: "84px", secondary: true }),
  timeColumn("last", "Last", (group) => group.last_occurrence, { track: "84px" }),
  {
    key: "state",
    title: "State",
    track: "104px",
    aside: true,
    cell: (group) =>
      group.is_regression ? <State name="regressed" label="came back" /> : <State name={group.state} />,
  },
];

/** Most letters first, or the newest last or first failure first. */
const ORDERS = ["letters", "last", "first"] as const;

export function Groups() {
  const navigate = useNavigate();
  const [search] = useListSearch();
  const { queue, q } = search;
  const sort = oneOf(ORDERS, search.sort);
  const state = oneOf(GROUP_STATES, search.state) ?? "open";
  const query = {
    state: [state],
    trend: true,
    ...(queue && { queue }),
    ...(q && { search: q }),
    ...(sort && { sort }),
  };
  const list = usePages(
    ["groups", query],
    (page, signal) => call("GET /groups", { query: { ...query, ...page } }, { signal }),
    ({ groups }) => groups,
  );
  const options = [state !== "open" && `--state ${state}`, queue && `--queue ${quoted(queue)}`];
  return (
    <ListPage
      title="Groups"
      facts={list.first && `${countText(list.first.total)} ${state === "all" ? "" : state} groups`}
      command={["redrive groups", ...options].filter(Boolean).join(" ")}
      list={list}
      filters={[
        { key: "state", label: "State", values: GROUP_STATES, as: "chips" },
        { key: "sort", label: "Order", values: ORDERS },
        { key: "q", label: "Search titles" },
        { key: "queue", label: "queue", as: "applied" },
      ]}
      label="Groups of letters with the same failure"
      columns={COLUMNS}
      rowHeight={52}
      keyOf={({ signature }) => signature}
      onOpen={({ signature }) => void navigate({ to: "/groups/$signature", params: { signature } })}
      empty={{
        title: "Nothing has failed.",
        command: "redrive demo",
        children: <p>A group appears here when an item has used all of its retries.</p>,
      }}
    />
  );
}
