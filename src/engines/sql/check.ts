/** The parts of `store check` and `store info` that both SQL stores share. */
import type { Problem, StoreInfo } from "../../engine.ts";
import { ITEM_STATES } from "../../item/state.ts";
import type { Rules } from "./check-rules.ts";
import type { Db, Step } from "./db.ts";

export const PROBLEMS_MAX = 100;

/** Returns the violations of the rules, at most `PROBLEMS_MAX` per query. */
export function* findProblems(db: Db, rules: readonly Rules[]): Step<Problem[]> {
  const problems: Problem[] = [];
  for (const [rule, queries] of rules.flatMap((some) => Object.entries(some))) {
    for (const sql of queries) {
      const found = yield* db.all<{ detail: string }>(`${sql} LIMIT ${PROBLEMS_MAX}`);
      problems.push(...found.map(({ detail }) => ({ rule, detail })));
    }
  }
  return problems;
}

type Totals = Pick<StoreInfo, "items" | "letters" | "attempts" | "jobs" | "events">;

export function* storeTotals(db: Db): Step<Totals> {
  const row = yield* db.get<Totals>(
    `SELECT coalesce(sum(${ITEM_STATES.join(" + ")}), 0) AS items, coalesce(sum(letters), 0) AS letters,
            coalesce(sum(attempts), 0) AS attempts, (SELECT count(*) FROM jobs) AS jobs,
            (SELECT coalesce(sum(span), 0) FROM events) AS events
       FROM ${db.sql.queueTotals}`,
  );
  return { ...(row ?? { items: 0, letters: 0, attempts: 0, jobs: 0, events: 0 }) };
}
