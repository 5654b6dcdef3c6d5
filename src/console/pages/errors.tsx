/** The error log: every failure in every queue, whether or not it was retried. */
import { Link, useNavigate } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { failureText, headline } from "../data/letter.ts";
import { usePages } from "../data/list.ts";
import { useListSearch } from "../data/list-search.ts";
import { oneOf, quoted } from "../data/search.ts";
import { TwoLines, textColumn, timeColumn } from "../ui/columns.tsx";
import { ListPage } from "../ui/list-page.tsx";
import { MiddleText } from "../ui/middle-text.tsx";
import type { Column } from "../ui/table.tsx";

type Row = ResponseOf<"GET /errors">["errors"][number];
const text = (value: unknown) => (typeof value === "string" ? value : "");

const COLUMNS: readonly Column<Row>[] = [
  {
    key: "error",
    title: "Error",
    track: "minmax(0, 2fr)",
    cell: ({ error_message: message, error_type: type, step, origin }) => (
      <TwoLines
        title={text(message)}
        first={<span className="font-normal">{headline(text(message))}</span>}
        second={[origin === "runner" && "runner", failureText({ error_type: type, step_failed: text(step) })]
          .filter(Boolean)
          .join(" · ")}
      />
    ),
  },
  {
    key: "item",
    title: "Item",
    track: "minmax(0, 1fr)",
    cell: ({ queue, item_id: item }) =>
      text(item) !== "" && (
        <Link
          to="/items/$queue/$item"
          params={{ queue: text(queue), item: text(item) }}
          className="block min-w-0 hover:underline"
        >
          <MiddleText text={text(item)} />
        </Link>
      ),
  },
  textColumn("queue", "Queue or job", ({ queue }) => text(queue), {
    track: "170px",
    secondary: true,
    cell: ({ queue }) => <MiddleText text={text(queue)} />,
  }),
  textColumn("attempt", "Attempt", ({ attempt }) => String(attempt ?? "–"), {
    track: "70px",
    align: "right",
  }),
  textColumn("machine", "Machine", ({ machine }) => text(machine), { track: "120px", secondary: true }),
  timeColumn("at", "When", ({ timestamp }) => timestamp, { aside: true }),
];

const ORIGINS = ["work", "runner"] as const;
const SPANS = ["1h", "24h", "7d"] as const;

export function Errors() {
  const navigate = useNavigate();
  const [search] = useListSearch();
  const { queue } = search;
  const [origin, since] = [oneOf(ORIGINS, search.origin), oneOf(SPANS, search.since)];
  const query = { ...(queue && { queue: [queue] }), ...(origin && { origin }), ...(since && { since }) };
  const list = usePages(
    ["errors", query],
    (page, signal) => call("GET /errors", { query: { ...query, ...page } }, { signal }),
    ({ errors }) => errors,
  );
  const command = [
    "redrive errors",
    queue && `--queue ${quoted(queue)}`,
    origin && `--origin ${origin}`,
    since && `--since ${since}`,
  ];
  return (
    <ListPage
      title="Errors"
      facts="Every failed attempt, also of items that succeeded later"
      command={command.filter(Boolean).join(" ")}
      list={list}
      filters={[
        { key: "since", label: "Since", values: ["all", ...SPANS], as: "chips" },
        { key: "origin", label: "Origin", values: ["all origins", ...ORIGINS] },
        { key: "q", label: "Search messages", of: ({ error_message: message }) => text(message) },
        { key: "queue", label: "queue", as: "applied" },
      ]}
      columns={COLUMNS}
      rowHeight={48}
      keyOf={({ id }) => String(id)}
      onOpen={({ queue, item_id: item }) => {
        if (text(item) !== "")
          void navigate({ to: "/items/$queue/$item", params: { queue: text(queue), item: text(item) } });
      }}
      empty={{
        title: "No attempt has failed.",
        command: "redrive errors --follow",
        children: <p>Failed attempts appear here as they happen.</p>,
      }}
    />
  );
}
