/** What the rows of a list have in common is shown once above it; each row shows only the rest. */
import type { FailureTitle } from "../triage/title.ts";
import { locationParts } from "../triage/title.ts";

/** Facts of one row by position, for example type, command and exit code. An empty one is not shown. */
export type Facts = readonly string[];

export interface SharedFacts {
  /** For example `CommandFailed · curl · exit 22`; empty when the rows share nothing. */
  readonly heading: string;
  /** For each row what it does not share. */
  readonly own: readonly string[];
}

export function shareFacts(rows: readonly Facts[]): SharedFacts {
  const [first = []] = rows;
  const isShared = (position: number) => rows.every((facts) => facts[position] === first[position]);
  return {
    heading: joinFacts(first.filter((_, position) => isShared(position))),
    own: rows.map((facts) => joinFacts(facts.filter((_, position) => !isShared(position)))),
  };
}

/** Type, command, how it ended, step and frames. */
export function titleFacts({ type, location }: FailureTitle): Facts {
  return [type, ...locationParts(location)];
}

export function joinFacts(facts: Facts): string {
  return facts.filter(Boolean).join(" · ");
}
