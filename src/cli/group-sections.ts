/** Groups below headings: type, command and exit code once, and below them the titles of the groups that share these. */
import { groupTitle } from "../triage/title.ts";
import { joinFacts, titleFacts } from "./common-facts.ts";
import { shortenApart } from "./shorten.ts";

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
