/** Pages of groups over all queues, counted and sorted by the database. */
import type { GroupOrder, GroupPage, GroupQuery } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import type { GroupState } from "../../item/group.ts";
import { readCursor, writeCursor } from "../../std/cursor.ts";
import { allOf, condition, groupConditions } from "./conditions.ts";
import type { Db, Fragment, Step } from "./db.ts";
import { listGroups } from "./group-records.ts";

interface Row {
  /** Null in the rows that count the groups of a state. */
  readonly signature: string | null;
  readonly state: GroupState;
  readonly letters: number;
  readonly key: number;
  readonly then_by: number;
}

/** The two sort keys of each order; both descend, and signatures with equal keys ascend. */
const KEYS: Readonly<Record<GroupOrder, readonly [key: string, then: string]>> = {
  letters: ["letters", "last_at"],
  last: ["last_at", "letters"],
  first: ["first_at", "letters"],
};

export function* pageGroups(db: Db, query: GroupQuery): Step<GroupPage> {
  const { queue, states, limit, order = "letters" } = query;
  const [key, then] = KEYS[order];
  const after =
    query.cursor === undefined ? condition("true") : conditionAfter(db, order, positionOf(query.cursor));
  const known = knownGroups(db, queue);
  const asked = allOf([condition(db.sql.among("state", "?", "text"), states), after]);
  const rows = yield* db.all<Row>(
    `WITH known AS MATERIALIZED (${known.sql})
     SELECT * FROM (SELECT signature, state, letters, ${key} AS key, ${then} AS then_by FROM known
                     WHERE ${asked.sql} ORDER BY ${key} DESC, ${then} DESC, ${db.sql.inBytes("signature")} LIMIT ?) page
     UNION ALL SELECT NULL, state, count(*), 0, 0 FROM known GROUP BY state`,
    ...[...known.values, ...asked.values, limit + 1],
  );
  const found = rows.flatMap((row) => (row.signature === null ? [] : [{ ...row, signature: row.signature }]));
  const counts = { open: 0, resolved: 0, ignored: 0 };
  for (const row of rows) if (row.signature === null) counts[row.state] += row.letters;
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const signatures = page.map(({ signature }) => signature);
  return {
    signatures,
    groups: yield* listGroups(db, { signatures, ...(queue !== undefined && { queue }) }),
    counts,
    algorithms: yield* lettersByAlgorithm(db, queue),
    next:
      found.length > limit && last !== undefined
        ? writeCursor([last.key, last.then_by, last.signature])
        : null,
  };
}

/** Groups with letters, and without a queue also those that people have resolved or ignored. */
function knownGroups(db: Db, queue: string | undefined): Fragment {
  const { sql, values } = groupConditions(db.sql, queue === undefined ? {} : { queue });
  const withLetters = `SELECT m.signature, m.state, c.letters, c.last_at, c.first_at
    FROM (SELECT g.signature, CAST(sum(g.count) AS bigint) AS letters, max(g.last_at) AS last_at, min(g.first_at) AS first_at
            FROM groups g WHERE ${sql} AND g.count > 0 GROUP BY g.signature) c
         ${db.sql.joinInOrder} group_records m ON m.signature = c.signature`;
  if (queue !== undefined) return { sql: withLetters, values };
  return {
    sql: `${withLetters} UNION ALL
      SELECT m.signature, m.state, 0, 0, 0 FROM group_records m WHERE m.state <> 'open'
         AND NOT EXISTS (SELECT 1 FROM groups g WHERE g.signature = m.signature AND g.count > 0)`,
    values,
  };
}

function* lettersByAlgorithm(db: Db, queue: string | undefined): Step<GroupPage["algorithms"]> {
  const { sql, values } = groupConditions(db.sql, queue === undefined ? {} : { queue });
  return yield* db.all(
    `SELECT algorithm, CAST(sum(count) AS bigint) AS letters FROM groups g WHERE ${sql} AND g.count > 0
      GROUP BY algorithm ORDER BY ${db.sql.inBytes("algorithm")}`,
    ...values,
  );
}

type Position = readonly [key: number, then: number, signature: string];

function conditionAfter(db: Db, order: GroupOrder, [first, second, signature]: Position): Fragment {
  const [key, then] = KEYS[order];
  return condition(
    `(${key} < ? OR (${key} = ? AND (${then} < ? OR (${then} = ? AND ${db.sql.inBytes("signature")} > ?))))`,
    ...[first, first, second, second, signature],
  );
}

function positionOf(cursor: string): Position {
  const [key, then, signature] = readCursor(cursor);
  const isPosition = Number.isSafeInteger(key) && Number.isSafeInteger(then);
  if (isPosition && typeof signature === "string") return [key as number, then as number, signature];
  throw new RedriveError("usage", `"${cursor}" is not a valid cursor for groups.`, {
    hint: "Use the `next` value of the previous page.",
  });
}
