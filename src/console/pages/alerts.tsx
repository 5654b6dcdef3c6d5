/** The alerts page: evaluates the rules of redrive.yml. */
import { Link } from "@tanstack/react-router";
import { wholeList } from "../data/list.ts";
import { useRoute } from "../data/use-route.ts";
import { LINK, TwoLines, textColumn } from "../ui/columns.tsx";
import { ListPage } from "../ui/list-page.tsx";
import { MiddleText } from "../ui/middle-text.tsx";
import { plural } from "../ui/numbers.ts";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";

/** The fields of an alert that the page shows. */
interface Row {
  readonly rule?: string;
  readonly queue?: string;
  readonly severity?: string;
  readonly text?: string;
  readonly value?: number;
  readonly limit?: number;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "text",
    title: "Alert",
    track: "minmax(0, 2fr)",
    cell: ({ text, rule }) => <TwoLines title={text} first={text} second={`rule ${rule}`} />,
  },
  {
    key: "queue",
    title: "Queue or job",
    track: "minmax(0, 1fr)",
    cell: ({ queue }) =>
      queue !== undefined && (
        <Link to="/letters" search={{ queue }} className={LINK}>
          <MiddleText text={queue} />
        </Link>
      ),
  },
  textColumn("value", "Value", ({ value, limit }) => `${value ?? "–"}, limit ${limit ?? "–"}`, {
    track: "140px",
    align: "right",
  }),
  {
    key: "severity",
    title: "Severity",
    track: "110px",
    aside: true,
    cell: ({ severity = "warning" }) => (
      <State name={severity === "critical" ? "failed" : "interrupted"} label={severity} />
    ),
  },
];

export function Alerts() {
  const list = wholeList(useRoute("queues", "GET /alerts"), ({ alerts }) => alerts as readonly Row[]);
  return (
    <ListPage
      title="Alerts"
      facts={!list.isPending && `${plural(list.rows.length, "alert")}, checked now`}
      command="redrive watch --once"
      list={list}
      filters={[{ key: "q", label: "Search alerts", of: ({ text, rule }) => `${text} ${rule}` }]}
      columns={COLUMNS}
      rowHeight={48}
      keyOf={(row) => JSON.stringify(row)}
      empty={{
        title: "No alert is active.",
        command: "redrive watch",
        children: <p>Rules on depth, age, arrival rate and new groups are set in redrive.yml under watch.</p>,
      }}
    />
  );
}
