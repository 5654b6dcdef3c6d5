/** The columns and row actions of group lists, shared by the inbox and the overview. */
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { type Group, knownType } from "../data/letter.ts";
import { May, useMay } from "../shell/session.tsx";
import { Button } from "../ui/button.tsx";
import { countColumn, LINK, TwoLines, textColumn, timeColumn } from "../ui/columns.tsx";
import { MiddleText } from "../ui/middle-text.tsx";
import { plural } from "../ui/numbers.ts";
import { Pattern } from "../ui/pattern.tsx";
import { Sparkline } from "../ui/sparkline.tsx";
import { State } from "../ui/state.tsx";
import type { Column, TableProps } from "../ui/table.tsx";
import { BulkDialog, type BulkKind } from "./bulk.tsx";
import { FIXES } from "./group-facts.tsx";

const NEW_MS = 3_600_000;

const error: Column<Group> = {
  key: "error",
  title: "Error",
  track: "minmax(0, 1fr)",
  cell: (group) => <GroupName group={group} />,
};

/** The error with its queues below, for tables without a column for queues. */
const errorAndQueue: Column<Group> = {
  ...error,
  cell: (group) => <GroupName group={group} queues={group.jobs} />,
};

interface NameProps {
  readonly group: Group;
  readonly queues?: readonly string[];
}

function GroupName({ group, queues: names = [] }: NameProps) {
  const { signature, title, location, error_type, assignee, helped } = group;
  return (
    <Link to="/groups/$signature" params={{ signature }} className={LINK}>
      <TwoLines
        first={
          <>
            <GroupBadge group={group} />
            <Pattern text={title} />
          </>
        }
        second={
          <>
            {helped && (
              <span className="text-green" title={`${plural(helped.count, "letter")} succeeded after it`}>
                ✓ {FIXES[helped.kind] ?? helped.kind} helped before{" · "}
              </span>
            )}
            {[assignee && `@${assignee}`, queuesText(names), knownType(error_type), location]
              .filter(Boolean)
              .join(" · ")}
          </>
        }
        title={title}
      />
    </Link>
  );
}

function queuesText([first = "", ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} +${others.length}`;
}

const count: Column<Group> = countColumn("count", "Letters", (group) => group.count, { track: "72px" });

const trend: Column<Group> = {
  key: "trend",
  title: "24 h",
  track: "104px",
  secondary: true,
  cell: ({ arrivals }) => <Sparkline counts={arrivals ?? []} label="letters in 24 h" />,
};

const queues: Column<Group> = textColumn("jobs", "Queue or job", ({ jobs }) => jobs.join(", "), {
  track: "160px",
  secondary: true,
  cell: ({ jobs: [first = "", ...others] }) => (
    <span className="flex gap-1.5" title={[first, ...others].join(", ")}>
      <MiddleText text={first} />
      {others.length > 0 && <span className="text-muted">+{others.length}</span>}
    </span>
  ),
});

const first = timeColumn<Group>("first", "First", (group) => group.first_occurrence, {
  track: "84px",
  secondary: true,
});
const last = timeColumn<Group>("last", "Last", (group) => group.last_occurrence, { track: "84px" });

export const INBOX_COLUMNS = [error, count, trend, queues, first, last] as const;
export const OVERVIEW_COLUMNS = [errorAndQueue, count, trend, last] as const;

/** A badge for a group in a special state. Most groups are open, so that state has no badge. */
function GroupBadge({ group }: { readonly group: Group }) {
  const badge = group.is_regression
    ? { name: "regressed", label: "came back" }
    : group.state !== "open"
      ? { name: group.state }
      : isNew(group)
        ? { name: "new" }
        : null;
  return (
    badge && (
      <span className="mr-1.5">
        <State {...badge} />
      </span>
    )
  );
}

/** A group that failed for the first time within the last hour. */
export function isNew({ first_occurrence: at }: Pick<Group, "first_occurrence">): boolean {
  return at !== null && Date.now() - Date.parse(at) < NEW_MS;
}

/** Starts a retry, an edit or a discard of a group from its row, by a button or a keyboard shortcut. */
export function useGroupActions() {
  const [started, setStarted] = useState<{ readonly kind: BulkKind; readonly group: Group } | null>(null);
  const mayChange = useMay("operator");
  const start = (kind: BulkKind) => (group: Group) => {
    if (group.count > 0) setStarted({ kind, group });
  };
  const column: Column<Group> = {
    key: "act",
    title: "Action",
    track: "84px",
    aside: true,
    cell: (group) => (
      <May atLeast="operator">
        <Button disabled={group.count === 0} title={TITLE} onClick={() => start("retry")(group)}>
          Retry…
        </Button>
      </May>
    ),
  };
  const rowKeys: TableProps<Group>["rowKeys"] = mayChange
    ? { r: start("retry"), e: start("edit"), d: start("discard") }
    : {};
  const dialog = started !== null && (
    <BulkDialog
      kind={started.kind}
      target={{
        queue: started.group.jobs[0] ?? "",
        queues: started.group.jobs,
        search: { group: started.group.signature },
      }}
      onClose={() => setStarted(null)}
    />
  );
  return { column, rowKeys, dialog };
}

const TITLE = "Preview a retry of this group (r on the current row; e edits, d discards)";
