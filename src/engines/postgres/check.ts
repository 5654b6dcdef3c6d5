/** `store check` for PostgreSQL: each invariant is a query that must return no rows. All queries read one snapshot. */
import type { Problem, StoreInfo } from "../../engine.ts";
import { findProblems, PROBLEMS_MAX, type Rules, sharedRules, storeTotals } from "../sql/check.ts";
import { runOn } from "./db.ts";
import { SCHEMA_VERSION } from "./migrate.ts";
import type { Tx } from "./session.ts";

/** Columns that reference other tables without a foreign key, which would slow down every worker. */
const POINTERS: readonly (readonly [from: string, column: string, to: string, key: string])[] = [
  ["items", "queue", "queues", "no"],
  ["items", "holder", "holders", "no"],
  ["items", "operation", "operations", "no"],
  ["items", "origin", "items", "ref"],
  ["payloads", "ref", "items", "ref"],
  ["progress", "ref", "items", "ref"],
  ["attempts", "ref", "items", "ref"],
  ["attempts", "holder", "holders", "no"],
  ["letters", "ref", "items", "ref"],
  ["letters", "grp", "groups", "no"],
  ["resolved_letters", "ref", "items", "ref"],
  ["resolved_letters", "grp", "groups", "no"],
  ["arrivals", "grp", "groups", "no"],
  ["late_results", "ref", "items", "ref"],
  ["notes", "ref", "items", "ref"],
  ["amendments", "ref", "items", "ref"],
  ["selections", "operation", "operations", "no"],
  ["selections", "ref", "items", "ref"],
  ["ready_items", "ref", "items", "ref"],
  ["ordered_items", "ref", "items", "ref"],
];

/** Whether the row `n` of `ready_items` matches its item `i`. */
const IS_ITS_ROW = `n.queue = i.queue AND n.priority = i.priority AND n.due_at = i.due_at AND n.ref = i.ref
  AND n.operation IS NOT DISTINCT FROM i.operation`;

/** Another item `o` with the same ordering key as `i` that must be processed first. */
const FIRST =
  "o.queue = i.queue AND o.ordering_key = i.ordering_key AND o.ref <> i.ref AND (o.ref < i.ref OR o.leased = 1)";

const RULES: Rules = {
  integrity: POINTERS.map(
    ([from, column, to, key]) => `
      SELECT '${from}.${column} ' || f.${column} || ' points at no row of ${to}' AS detail FROM ${from} f
       WHERE f.${column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${to} t WHERE t.${key} = f.${column})`,
  ),
  "a lease has one holder": [
    `SELECT 'item ' || i.item_id || ' is leased and not among what its holder was given' AS detail FROM items i
      WHERE i.state = 'leased' AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.holder = i.holder AND i.ref = ANY (l.refs))`,
  ],
  "an operation accounts for every letter": [
    `SELECT 'letter ' || s.no || ' of operation ' || o.id || ' is pending and was passed over' AS detail
       FROM operations o JOIN selections s ON s.operation = o.no AND s.no <= o.next_no AND s.status = 'pending'
      WHERE o.kind <> 'redrive'`,
  ],
  "an operation selects no letter buried later": [
    `SELECT 'letter ' || l.no || ' has a number above that of the newest burial' AS detail
       FROM (SELECT no FROM letters UNION ALL SELECT no FROM resolved_letters) l
      WHERE l.no > (SELECT last FROM letter_numbers)`,
  ],
  "every ready item can be leased": [
    `SELECT 'item ' || i.item_id || ' is ready but missing from ready_items' AS detail FROM items i
      WHERE i.state = 'ready' AND NOT EXISTS (SELECT 1 FROM ready_items n WHERE ${IS_ITS_ROW})
        AND NOT EXISTS (SELECT 1 FROM ordered_items o WHERE ${FIRST})`,
    `SELECT 'item ' || i.item_id || ' is ' || i.state || ' and has a row in ready_items, due at ' || n.due_at AS detail
       FROM ready_items n JOIN items i ON i.ref = n.ref WHERE i.state <> 'ready' OR NOT (${IS_ITS_ROW})`,
  ],
  "items with one ordering key run one at a time": [
    `SELECT 'item ' || i.item_id || ' can be leased before earlier items with its ordering key' AS detail
       FROM ready_items n JOIN items i ON i.ref = n.ref WHERE EXISTS (SELECT 1 FROM ordered_items o WHERE ${FIRST})`,
    `SELECT 'item ' || i.item_id || ' is ' || i.state || ' but its row in ordered_items differs' AS detail
       FROM items i LEFT JOIN ordered_items o ON o.queue = i.queue AND o.ordering_key = i.ordering_key AND o.ref = i.ref
      WHERE (i.ordering_key IS NOT NULL AND i.state IN ('ready', 'leased', 'held')) <> (o.ref IS NOT NULL)
         OR (o.leased = 1) <> (i.state = 'leased')`,
  ],
};

export async function checkStore(tx: Tx): Promise<Problem[]> {
  const problems = await runOn(tx, (db) => findProblems(db, [RULES, ...sharedRules(db.sql, "selected")]));
  return problems.slice(0, PROBLEMS_MAX);
}

/** The caller passes the store's location and the schema version found when it was opened. */
export async function storeInfo(
  tx: Tx,
  { location, foundVersion }: Pick<StoreInfo, "location" | "foundVersion">,
): Promise<StoreInfo> {
  const size = await tx.get<{ bytes: number }>(
    `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bytes
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'`,
    tx.schema,
  );
  const totals = await runOn(tx, storeTotals);
  return {
    engine: "postgres",
    location,
    schemaVersion: SCHEMA_VERSION,
    foundVersion,
    bytes: size?.bytes ?? 0,
    ...totals,
  };
}
