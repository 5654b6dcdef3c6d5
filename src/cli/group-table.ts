/** Groups as a table: what they share as a heading, then the columns asked for, the title, and where each happened. */
import { groupTitle } from "../triage/title.ts";
import { shareFacts, titleFacts } from "./common-facts.ts";
import type { Paint } from "./paint.ts";
import { shorten } from "./shorten.ts";
import { type Column, table } from "./table.ts";

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
