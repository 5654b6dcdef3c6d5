/** The groups page, an inbox with one row for each cause. */
import { useNavigate } from "@tanstack/react-router";
import { call } from "../data/api.ts";
import { usePages } from "../data/list.ts";
import { useListSearch } from "../data/list-search.ts";
import { GROUP_STATES, oneOf, quoted } from "../data/search.ts";
import { useSession } from "../shell/session.tsx";
import { ListPage } from "../ui/list-page.tsx";
import { countText } from "../ui/numbers.ts";
import { INBOX_COLUMNS, useGroupActions } from "./group-list.tsx";

const assigneeText = (name: string) => (name === "anybody" ? "any assignee" : "assigned to me");

/** By number of letters, by the newest last failure, or by the newest first failure. */
const ORDERS = ["letters", "last", "first"] as const;
const ORDER_TEXTS: Readonly<Record<string, string>> = {
  letters: "most letters first",
  last: "last failed first",
  first: "newest cause first",
};

export function Groups() {
  const navigate = useNavigate();
  const { column: act, rowKeys, dialog } = useGroupActions();
  const { name: session } = useSession();
  const [search] = useListSearch();
  const { queue, q, assignee } = search;
  const sort = oneOf(ORDERS, search.sort);
  const state = oneOf(GROUP_STATES, search.state) ?? "open";
  const query = {
    state: [state],
    trend: true,
    helped: true,
    ...(queue && { queue }),
    ...(q && { search: q }),
    ...(assignee && { assignee }),
    ...(sort && { sort }),
  };
  const list = usePages(
    ["groups", query],
    (page, signal) => call("GET /groups", { query: { ...query, ...page } }, { signal }),
    ({ groups }) => groups,
  );
  const options = [
    state !== "open" && `--state ${state}`,
    queue && `--queue ${quoted(queue)}`,
    assignee && `--assignee ${quoted(assignee)}`,
  ];
  return (
    <ListPage
      title="Groups"
      facts={list.first && `${countText(list.first.total)} ${state === "all" ? "" : state} groups`}
      command={["redrive groups", ...options].filter(Boolean).join(" ")}
      list={list}
      filters={[
        { key: "state", label: "State", values: GROUP_STATES, as: "chips" },
        { key: "sort", label: "Order", values: ORDERS, labelOf: (order) => ORDER_TEXTS[order] ?? order },
        { key: "q", label: "Search titles" },
        { key: "assignee", label: "Assignee", values: ["anybody", session], labelOf: assigneeText },
        { key: "queue", label: "queue", as: "applied" },
      ]}
      label="Groups of letters with the same failure"
      columns={[...INBOX_COLUMNS, act]}
      rowKeys={rowKeys}
      rowHeight={52}
      keyOf={({ signature }) => signature}
      onOpen={({ signature }) => void navigate({ to: "/groups/$signature", params: { signature } })}
      empty={{
        title: "Nothing has failed.",
        command: "redrive demo",
        children: <p>A group appears here when an item has used all of its retries.</p>,
      }}
    >
      {dialog}
    </ListPage>
  );
}
