/** The audit page: who changed what, and how. Entries cannot be edited. */
import { Link } from "@tanstack/react-router";
import type { ResponseOf } from "../../server/contract.ts";
import { call } from "../data/api.ts";
import { actionText, detailsText } from "../data/audit.ts";
import { usePages } from "../data/list.ts";
import { useListSearch } from "../data/list-search.ts";
import { quoted } from "../data/search.ts";
import { textColumn, timeColumn } from "../ui/columns.tsx";
import { ListPage } from "../ui/list-page.tsx";
import type { Column } from "../ui/table.tsx";

type Row = ResponseOf<"GET /audit">["entries"][number];

const COLUMNS: readonly Column<Row>[] = [
  textColumn("action", "What", ({ action }) => actionText(action), {
    track: "180px",
    cell: ({ action }) => <span className="font-medium">{actionText(action)}</span>,
  }),
  {
    key: "where",
    title: "Where",
    track: "minmax(0, 1fr)",
    isEmpty: ({ queue }) => queue === null,
    cell: ({ queue, item_id: item }) =>
      queue !== null && item !== null ? (
        <Link to="/items/$queue/$item" params={{ queue, item }} className="hover:underline">
          {queue} / {item}
        </Link>
      ) : (
        queue
      ),
  },
  textColumn("who", "Who", ({ author }) => author, { track: "130px" }),
  textColumn("via", "Through", ({ via }) => via, { track: "80px" }),
  textColumn("data", "Details", ({ data }) => detailsText(data), { track: "minmax(0, 2fr)", line: true }),
  timeColumn("at", "When", ({ at }) => at, { aside: true }),
];

export function Audit() {
  const [{ author, queue }] = useListSearch();
  const query = { ...(author && { author }), ...(queue && { queue }) };
  const list = usePages(
    ["audit", query],
    (page, signal) => call("GET /audit", { query: { ...query, ...page } }, { signal }),
    ({ entries }) => entries,
  );
  const options = [author && `--author ${quoted(author)}`, queue && `--queue ${quoted(queue)}`];
  return (
    <ListPage
      title="Audit"
      facts="Every change, with its author and interface"
      command={["redrive audit", ...options].filter(Boolean).join(" ")}
      list={list}
      filters={[
        { key: "author", label: "Author, exactly" },
        { key: "queue", label: "Queue or job (exact name)" },
        {
          key: "q",
          label: "Search changes",
          of: ({ action, data }) => `${actionText(action)} ${detailsText(data)}`,
        },
      ]}
      label="Changes"
      columns={COLUMNS}
      keyOf={({ id }) => id}
      empty={{
        title: "No changes yet.",
        command: "redrive audit",
        children: <p>Every retry, edit, discard, pause and note is recorded here with its author.</p>,
      }}
    />
  );
}
