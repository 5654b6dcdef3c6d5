/** `store check` for PostgreSQL: every invariant as a query that must find nothing, all on one view of the store. */
import type { Problem, StoreInfo } from "../../engine.ts";
import { QUEUE_RULES } from "./check-queue-rules.ts";
import { RULES } from "./check-rules.ts";
import { SCHEMA_VERSION } from "./schema-version.ts";
import type { Tx } from "./session.ts";

const PROBLEMS_MAX = 100;

export async function checkStore(tx: Tx): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const [rule, sql] of [...RULES, ...QUEUE_RULES]) {
    const found = await tx.all<{ detail: string }>(`${sql} LIMIT ${PROBLEMS_MAX}`);
    problems.push(...found.map(({ detail }) => ({ rule, detail })));
  }
  return problems.slice(0, PROBLEMS_MAX);
}

/** Where it is, and the version that it was found with, are known to who opened it. */
export async function storeInfo(
  tx: Tx,
  { location, foundVersion }: Pick<StoreInfo, "location" | "foundVersion">,
): Promise<StoreInfo> {
  const states = "ready + leased + held + done + dead + skipped + discarded";
  const sums = await tx.get<{ items: number; letters: number; attempts: number }>(
    `SELECT coalesce(sum(${states}), 0) AS items, coalesce(sum(letters), 0) AS letters,
            coalesce(sum(attempts), 0) AS attempts FROM queue_totals`,
  );
  const whole = await tx.get<{ jobs: number; events: number; bytes: number }>(
    `SELECT (SELECT count(*) FROM jobs) AS jobs,
            (SELECT coalesce(sum(span), 0) FROM events) AS events,
            (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
              WHERE n.nspname = ? AND c.relkind = 'r') AS bytes`,
    tx.schema,
  );
  return {
    engine: "postgres",
    location,
    schemaVersion: SCHEMA_VERSION,
    foundVersion,
    bytes: whole?.bytes ?? 0,
    jobs: whole?.jobs ?? 0,
    items: sums?.items ?? 0,
    letters: sums?.letters ?? 0,
    attempts: sums?.attempts ?? 0,
    events: whole?.events ?? 0,
  };
}
