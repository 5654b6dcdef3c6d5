/** The table of letters, on the page of all letters, of a group and of a job. */
import { Link, useNavigate } from "@tanstack/react-router";
import { dataText, headline, type Letter, lastFailure, typeName } from "../data/letter.ts";
import type { LetterSearch } from "../data/search.ts";
import { countText, middle } from "../ui/numbers.ts";
import { State } from "../ui/state.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";

interface LetterTableProps {
  readonly rows: readonly Letter[];
  readonly search: LetterSearch;
  readonly onEndReached: () => void;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (key: string, range: boolean) => void;
  /** The letters are of one group: their failure is not repeated in every row. */
  readonly isGroup?: boolean;
}

export const letterKey = ({ queue, item_id }: Pick<Letter, "queue" | "item_id">) => `${queue} ${item_id}`;

export function LetterTable({
  rows,
  search,
  onEndReached,
  selected,
  onSelect,
  isGroup = false,
}: LetterTableProps) {
  const navigate = useNavigate();
  return (
    <Table
      label="Letters"
      columns={columnsFor(search).filter(({ key }) => !isGroup || key !== "error")}
      {...(isGroup && { maxHeight: "26rem" })}
      rows={rows}
      rowHeight={48}
      keyOf={letterKey}
      onOpen={({ queue, item_id }) =>
        void navigate({ to: "/letters/$queue/$item", params: { queue, item: item_id }, search })
      }
      card={LetterCard}
      onEndReached={onEndReached}
      selected={selected}
      onSelect={onSelect}
    />
  );
}

function LetterCard(letter: Letter) {
  const { queue, item_id: item, reason, last_attempt } = letter;
  const failure = lastFailure(letter);
  return (
    <Link to="/letters/$queue/$item" params={{ queue, item }} className="block leading-5">
      <span className="flex justify-between gap-2">
        <span className="min-w-0 truncate font-medium">{middle(item, 24)}</span>
        <span className="text-xs text-muted">
          <Time at={last_attempt} />
        </span>
      </span>
      <span className="block truncate text-xs text-muted">
        {failure === undefined ? reason : headline(failure.error_message)}
      </span>
    </Link>
  );
}

function columnsFor(search: LetterSearch): readonly Column<Letter>[] {
  return [
    {
      key: "item",
      title: "Item",
      track: "minmax(0, 1fr)",
      cell: ({ queue, item_id, item_data }) => (
        <Link
          to="/letters/$queue/$item"
          params={{ queue, item: item_id }}
          search={search}
          className="block truncate leading-5 hover:underline"
        >
          <span className="block truncate font-medium">{middle(item_id, 40)}</span>
          <span className="block truncate font-mono text-xs text-muted">{dataText(item_data)}</span>
        </Link>
      ),
    },
    {
      key: "error",
      title: "Error",
      track: "minmax(0, 1.4fr)",
      cell: (letter) => {
        const failure = lastFailure(letter);
        return (
          <span className="block leading-5">
            <span className="block truncate" title={failure?.error_message}>
              {failure === undefined ? letter.reason : headline(failure.error_message)}
            </span>
            <span className="block truncate text-xs text-muted">
              {failure && [typeName(failure.error_type), failure.step_failed].filter(Boolean).join(" · ")}
            </span>
          </span>
        );
      },
    },
    {
      key: "tries",
      title: "Tries",
      track: "52px",
      align: "right",
      secondary: true,
      cell: (letter) => countText(letter.failure_count),
    },
    {
      key: "queue",
      title: "Queue or job",
      track: "140px",
      secondary: true,
      cell: ({ queue }) => <span title={queue}>{queue}</span>,
    },
    { key: "died", title: "Died", track: "84px", cell: ({ last_attempt }) => <Time at={last_attempt} /> },
    {
      key: "state",
      title: "State",
      track: "88px",
      secondary: true,
      cell: ({ state }) => <State name={state} label={state === "ready" ? "retrying" : state} />,
    },
  ];
}
