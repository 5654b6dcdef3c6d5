/** What is decided of a group, as both SQL stores write it down. */

import type { GroupLife, GroupState, IgnoreUntil, MinuteCount } from "../item/group.ts";
import { compact } from "../std/json.ts";

export interface MarkRow {
  readonly signature: string;
  readonly pattern: string;
  readonly state: GroupState;
  readonly since: number;
  readonly author: string | null;
  readonly ignore_until: string | null;
  readonly new_letters: number;
  readonly recent: string;
  readonly regressions: number;
  readonly is_regression: number;
}

export function lifeOf(row: MarkRow): GroupLife {
  return {
    ...standingOf(row),
    newLetters: row.new_letters,
    recent: JSON.parse(row.recent) as readonly MinuteCount[],
  };
}

export function standingOf(row: MarkRow): Omit<GroupLife, "newLetters" | "recent"> {
  return compact({
    state: row.state,
    since: row.since,
    author: row.author ?? undefined,
    ignoreUntil: row.ignore_until === null ? undefined : (JSON.parse(row.ignore_until) as IgnoreUntil),
    regressions: row.regressions,
    isRegression: row.is_regression === 1,
  });
}
