/** What all rows of a list begin with is shown once above it; each row shows only the rest. */
import type { FailureTitle } from "../triage/title.ts";
import { locationParts } from "../triage/title.ts";

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
