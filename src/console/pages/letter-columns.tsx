/** The columns of letters, shared by the pages of letters, groups and jobs. */
import { Link } from "@tanstack/react-router";
import { failureText, headline, type Letter, lastFailure } from "../data/letter.ts";
import type { ListSearch } from "../data/search.ts";
import { countColumn, LINK, TwoLines, textColumn, timeColumn } from "../ui/columns.tsx";
import { ItemName } from "../ui/item-name.tsx";
import { MiddleText } from "../ui/middle-text.tsx";
import { State } from "../ui/state.tsx";
import type { Column } from "../ui/table.tsx";

export const letterKey = ({ queue, item_id }: Pick<Letter, "queue" | "item_id">) => `${queue} ${item_id}`;

/** A letter in the state `ready` or `leased` is being retried. */
export function letterWord(state: string): string {
  return { ready: "retrying", leased: "running" }[state] ?? state;
}

const queueColumn: Column<Letter> = textColumn("queue", "Queue or job", ({ queue }) => queue, {
  track: "150px",
  secondary: true,
  cell: ({ queue }) => <MiddleText text={queue} />,
});

const stateColumn: Column<Letter> = {
  key: "state",
  title: "State",
  track: "100px",
  cell: ({ state }) => <State name={state} label={letterWord(state)} />,
};

/**
 * Leaves out columns that are the same for all rows. A link to a letter carries the list's filters, so that
 * `j` and `k` move within that list.
 */
export function letterColumns(search: ListSearch): readonly Column<Letter>[] {
  const columns: readonly Column<Letter>[] = [
    {
      key: "item",
      title: "Item",
      track: "minmax(0, 1fr)",
      cell: ({ queue, item_id, item_data }) => (
        <Link to="/letters/$queue/$item" params={{ queue, item: item_id }} search={search} className={LINK}>
          <ItemName id={item_id} data={item_data} />
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
        return (
          <TwoLines
            title={failure?.error_message}
            first={
              <span className="font-normal">
                {failure === undefined ? letter.reason : headline(failure.error_message)}
              </span>
            }
            second={failure && failureText(failure)}
          />
        );
      },
    },
    countColumn("tries", "Tries", (letter) => letter.failure_count, { track: "64px", secondary: true }),
    queueColumn,
    timeColumn("died", "Died", ({ last_attempt }) => last_attempt, { track: "84px", aside: true }),
    stateColumn,
  ];
  const isOneQueue = search.queue !== undefined;
  return columns.filter(
    (column) => (!isOneQueue || column !== queueColumn) && (search.state === "all" || column !== stateColumn),
  );
}
