/** Renders lists of failures. Facts that all rows share become a heading; each row shows only the others. */
import { type FailureTitle, groupTitle, locationParts } from "../../triage/title.ts";
import type { Screen } from "./paint.ts";
import { shorten, shortenApart } from "./shorten.ts";
import { type Column, table } from "./table.ts";

/** The facts of one row, most general first: type, command, exit code. Empty facts are not shown. */
export type Facts = readonly string[];

/** Splits facts into a shared heading, e.g. `CommandFailed · curl · exit 22`, and the remaining facts of each row. */
export function shareFacts(rows: readonly Facts[]): { heading: string; own: readonly string[] } {
  const [first = []] = rows;
  const differsAt = first.findIndex((fact, position) => rows.some((facts) => facts[position] !== fact));
  const shared = differsAt < 0 ? first.length : differsAt;
  return {
    heading: joinFacts(first.slice(0, shared)),
    own: rows.map((facts) => joinFacts(facts.slice(shared))),
  };
}

/** Returns type, command, exit status, step and stack frames. */
export function titleFacts({ type, location }: FailureTitle): Facts {
  return [type, ...locationParts(location)];
}

export function joinFacts(facts: Facts): string {
  return facts.filter(Boolean).join(" · ");
}

/** Renders a table below a heading with the shared facts. */
export function tableBelow<Row>(
  heading: string,
  rows: readonly Row[],
  { cells, paint, columns }: Screen & { readonly cells: readonly (Column<Row> | false | undefined)[] },
): string {
  const text = table(rows, cells, columns);
  return heading === "" ? text : `${paint.bold(shorten(heading, columns))}\n${text}`;
}

interface WithPattern {
  readonly pattern: string;
}

/** Collects groups under headings, ordered by the first group of each. Groups that users named have no heading. */
export function groupSections<Group extends WithPattern>(
  groups: readonly Group[],
  { headingColumns, titleColumns }: { readonly headingColumns: number; readonly titleColumns: number },
) {
  const byHeading = new Map<string, { group: Group; title: string }[]>();
  for (const group of groups) {
    const found = groupTitle(group.pattern);
    const heading = joinFacts(titleFacts(found));
    byHeading.set(heading, [...(byHeading.get(heading) ?? []), { group, title: found.title }]);
  }
  const headings = shortenApart([...byHeading.keys()], headingColumns);
  return [...byHeading.values()].map((rows, index) => {
    const all = rows.map(({ title }) => title);
    const titles = shortenApart(all, titleColumns);
    return {
      heading: headings[index] ?? "",
      rows: rows.map(({ group }, at) => ({ group, title: titles[at] ?? "" })),
    };
  });
}

/** The width that the title column keeps; other columns are dropped first. */
const TITLE_COLUMNS = 40;
const TITLE_COLUMNS_MIN = 34;
const ROOMY_COLUMNS = 90;
const WHERE_COLUMNS_MIN = 16;

export function groupTable<Group extends WithPattern>(
  groups: readonly Group[],
  before: readonly Column<Group>[],
  { paint, columns }: Screen,
): string {
  const titles = groups.map(({ pattern }) => groupTitle(pattern));
  const { heading, own } = shareFacts(titles.map(titleFacts));
  const isAmbiguous = new Set(titles.map(({ title }) => title)).size < titles.length;
  const rows = groups.map((group, index) => ({
    group,
    where: own[index] ?? "",
    title: titles[index]?.title ?? "",
  }));
  type Row = (typeof rows)[number];
  const cells: readonly (Column<Row> | false)[] = [
    ...before.map(({ value, paint: tint, ...column }) => ({
      ...column,
      value: ({ group }: Row) => value(group),
      ...(tint && { paint: (cell: string, { group }: Row) => tint(cell, group) }),
    })),
    {
      title: "ERROR",
      value: ({ title, where }) => (isAmbiguous && where !== "" ? `${title} (${where})` : title),
      cutTo: columns >= ROOMY_COLUMNS ? TITLE_COLUMNS : TITLE_COLUMNS_MIN,
    },
    !isAmbiguous &&
      own.some(Boolean) && {
        title: "WHERE",
        value: ({ where }: Row) => where,
        paint: paint.dim,
        cutTo: WHERE_COLUMNS_MIN,
        giveUp: 1,
      },
  ];
  return tableBelow(heading, rows, { cells, paint, columns });
}
