/** What all rows of a list begin with is shown once above it; each row shows only the rest. */
import { type FailureTitle, groupTitle, locationParts } from "../../triage/title.ts";
import type { Paint } from "./paint.ts";
import { shorten, shortenApart } from "./shorten.ts";
import { type Column, table } from "./table.ts";

/** Facts of one row, the most general first: type, command, exit code. An empty one is not shown. */
export type Facts = readonly string[];

export interface SharedFacts {
  /** For example `CommandFailed · curl · exit 22`; empty when the rows share nothing. */
  readonly heading: string;
  /** For each row what it does not share. */
  readonly own: readonly string[];
}

export function shareFacts(rows: readonly Facts[]): SharedFacts {
  const [first = []] = rows;
  const differsAt = first.findIndex((fact, position) => rows.some((facts) => facts[position] !== fact));
  const shared = differsAt < 0 ? first.length : differsAt;
  return {
    heading: joinFacts(first.slice(0, shared)),
    own: rows.map((facts) => joinFacts(facts.slice(shared))),
  };
}

/** Type, command, how it ended, step and frames. */
export function titleFacts({ type, location }: FailureTitle): Facts {
  return [type, ...locationParts(location)];
}

export function joinFacts(facts: Facts): string {
  return facts.filter(Boolean).join(" · ");
}

export interface GroupSection<Group> {
  /** For example `CommandFailed · curl · exit 22`; empty for groups that people named. */
  readonly heading: string;
  readonly rows: readonly TitledGroup<Group>[];
}

export interface TitledGroup<Group> {
  readonly group: Group;
  readonly title: string;
}

/** In the order of the groups: a heading stands where the first of its groups does. */
export function groupSections<Group extends { readonly pattern: string }>(
  groups: readonly Group[],
  { headingColumns, titleColumns }: { readonly headingColumns: number; readonly titleColumns: number },
): readonly GroupSection<Group>[] {
  const byHeading = new Map<string, TitledGroup<Group>[]>();
  for (const group of groups) {
    const found = groupTitle(group.pattern);
    const heading = joinFacts(titleFacts(found));
    const row = { group, title: found.title };
    byHeading.set(heading, [...(byHeading.get(heading) ?? []), row]);
  }
  const headings = shortenApart([...byHeading.keys()], headingColumns);
  return [...byHeading.values()].map((rows, index) => {
    const titles = shortenApart(
      rows.map(({ title }) => title),
      titleColumns,
    );
    return {
      heading: headings[index] ?? "",
      rows: rows.map((row, at) => ({ ...row, title: titles[at] ?? "" })),
    };
  });
}

export function groupTable<Group extends { readonly pattern: string }>(
  groups: readonly Group[],
  before: readonly Column<Group>[],
  { paint, columns }: { readonly paint: Paint; readonly columns: number },
): string {
  const titles = groups.map(({ pattern }) => groupTitle(pattern));
  const { heading, own } = shareFacts(titles.map(titleFacts));
  const rowOf = new Map(
    groups.map((group, index) => [group, { where: own[index] ?? "", title: titles[index]?.title ?? "" }]),
  );
  const isAmbiguous = new Set(titles.map(({ title }) => title)).size < titles.length;
  const hasWhere = own.some((where) => where !== "");
  const titleOf = (group: Group) => {
    const { title = "", where = "" } = rowOf.get(group) ?? {};
    return isAmbiguous && where !== "" ? `${title} (${where})` : title;
  };
  const text = table(
    groups,
    [
      ...before,
      { title: "ERROR", value: titleOf, cutTo: columns >= ROOMY_COLUMNS ? TITLE_COLUMNS : TITLE_COLUMNS_MIN },
      ...(hasWhere && !isAmbiguous
        ? [
            {
              title: "WHERE",
              value: (group: Group) => rowOf.get(group)?.where ?? "",
              paint: paint.dim,
              cutTo: WHERE_COLUMNS_MIN,
              giveUp: 1,
            },
          ]
        : []),
    ],
    columns,
  );
  return heading === "" ? text : `${paint.bold(shorten(heading, columns))}\n${text}`;
}

/** Other columns are left out before the title gets narrower than this. */
const TITLE_COLUMNS = 40;
const TITLE_COLUMNS_MIN = 34;
const ROOMY_COLUMNS = 90;
const WHERE_COLUMNS_MIN = 16;
