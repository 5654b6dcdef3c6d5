/** The columns of letters, on the page of all letters, of a group and of a job. */
import { Link } from "@tanstack/react-router";
import { dataText, headline, type Letter, lastFailure, typeName } from "../data/letter.ts";
import type { ListSearch } from "../data/search.ts";
import { countColumn, LINK, TwoLines, textColumn, timeColumn } from "../ui/columns.tsx";
import { middle } from "../ui/numbers.ts";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";

export const letterKey = ({ queue, item_id }: Pick<Letter, "queue" | "item_id">) => `${queue} ${item_id}`;

/** A link to a letter carries the filters of its list, so that `j` and `k` move within that list. */
export function letterColumns(search: ListSearch): readonly Column<Letter>[] {
  return [
    {
      key: "item",
      title: "Item",
      track: "minmax(0, 1fr)",
      cell: ({ queue, item_id, item_data }) => (
        <Link to="/letters/$queue/$item" params={{ queue, item: item_id }} search={search} className={LINK}>
          <TwoLines
            mono
            first={<span className="font-sans">{middle(item_id, 40)}</span>}
            second={dataText(item_data)}
          />
        </Link>
      ),
    },
    {
      key: "error",
      title: "Error",
      track: "minmax(0, 1.4fr)",
      line: true,
      cell: (letter) => {
        const failure = lastFailure(letter);
        const facts = failure && [typeName(failure.error_type), failure.step_failed];
        return (
          <TwoLines
            title={failure?.error_message}
            first={
              <span className="font-normal">
                {failure === undefined ? letter.reason : headline(failure.error_message)}
              </span>
            }
            second={facts?.filter(Boolean).join(" · ")}
          />
        );
      },
    },
    countColumn("tries", "Tries", (letter) => letter.failure_count, { track: "52px", secondary: true }),
    textColumn("queue", "Queue or job", ({ queue }) => queue, { track: "140px", secondary: true }),
    timeColumn("died", "Died", ({ last_attempt }) => last_attempt, { track: "84px", aside: true }),
    {
      key: "state",
      title: "State",
      track: "88px",
      secondary: true,
      cell: ({ state }) => <State name={state} label={state === "ready" ? "retrying" : state} />,
    },
  ];
}
