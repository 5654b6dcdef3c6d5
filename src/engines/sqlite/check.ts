/**
 * `store check` for SQLite: checks the file's integrity, then runs every invariant as a query that must
 * return no rows.
 */
import { statSync } from "node:fs";
import type { Problem, StoreInfo } from "../../engine.ts";
import { isJsonObject, type Json, parseJson } from "../../std/json.ts";
import { lastFailureOf } from "../sql/attempts.ts";
import { findProblems, PROBLEMS_MAX, type Rules, sharedRules, storeTotals } from "../sql/check.ts";
import { runOn } from "./db.ts";
import { IN_RANGE } from "./letters-by-age.ts";
import { templateOf } from "./message-template.ts";
import { MIGRATIONS } from "./schema.ts";
import type { Session } from "./session.ts";
import { INDEXED_TO } from "./text-index.ts";

/** Call in a transaction, so that all queries see the same snapshot. */
export function checkStore(session: Session): Problem[] {
  renewTexts(session);
  const broken = session
    .all<{ integrity_check: string }>(`PRAGMA integrity_check(${PROBLEMS_MAX})`)
    .map((row) => row.integrity_check)
    .filter((line) => line !== "ok")
    .map((detail) => ({ rule: "integrity", detail }));
  if (broken.length > 0) return broken; // the other checks would only report the same damage
  const orphans = session
    .all<{ table: string; rowid: number | null; parent: string }>("PRAGMA foreign_key_check")
    .map((row) => ({
      rule: "integrity",
      detail: `${row.table} ${row.rowid ?? ""} points at no row of ${row.parent}`,
    }));
  const violations = runOn(session, (db) => findProblems(db, [RULES, ...sharedRules(db.sql, "selections")]));
  const texts = [...checkJson(session, PROBLEMS_MAX), ...checkTexts(session, PROBLEMS_MAX)];
  return [...orphans, ...violations, ...texts].slice(0, PROBLEMS_MAX);
}

/**
 * Queries the text index, which refreshes its cached structure. With a stale cache, SQLite's check would report damage if
 * another process has changed the index.
 */
function renewTexts(session: Session): void {
  for (const table of ["template_texts", "parameter_texts"])
    session.all(`SELECT 1 FROM ${table} WHERE ${table} MATCH '"..."' LIMIT 1`);
}

export function storeInfo(session: Session): StoreInfo {
  return {
    engine: session.inMemory ? "memory" : "sqlite",
    location: session.path,
    schemaVersion: MIGRATIONS.length,
    foundVersion: session.foundVersion,
    bytes: session.inMemory
      ? memoryBytes(session)
      : fileBytes(session.path) + fileBytes(`${session.path}-wal`),
    ...runOn(session, storeTotals),
  };
}

function memoryBytes(session: Session): number {
  const pages = session.get<{ page_count: number }>("PRAGMA page_count")?.page_count ?? 0;
  return pages * (session.get<{ page_size: number }>("PRAGMA page_size")?.page_size ?? 0);
}

function fileBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Finds another item `o` with the ordering key of `i` that must run first. */
const FIRST = `SELECT 1 FROM items o WHERE o.ordering_key IS NOT NULL AND o.state IN ('ready', 'leased', 'held')
  AND o.queue = i.queue AND o.ordering_key = i.ordering_key AND o.ref <> i.ref AND (o.state = 'leased' OR o.ref < i.ref)`;

const TEXT_RULE = "texts are found where they are";

export const RULES: Rules = {
  "groups count their letters": [
    `SELECT 'group ' || g.signature || ' counts ' || g.count || ', its ranges have ' || coalesce(sum(s.count), 0) AS detail
       FROM groups g LEFT JOIN letters_by_age s ON s.grp = g.no GROUP BY g.no HAVING g.count <> coalesce(sum(s.count), 0)`,
    `SELECT 'the range ' || s.number_range || ' of group ' || s.grp || ' counts ' || s.count || ', there are '
            || count(l.no) AS detail
       FROM letters_by_age s LEFT JOIN letters l ON l.grp = s.grp AND ${IN_RANGE}
            AND l.buried_at BETWEEN s.first_at AND s.last_at AND l.first_at BETWEEN s.first_min AND s.first_max
      GROUP BY s.grp, s.number_range HAVING s.count <> count(l.no)`,
    // The counts over all groups must equal the sums of the groups' counts.
    `SELECT 'the range ' || number_range || ' counts ' || coalesce(a.count, 0) || ' letters, its groups ' || coalesce(s.count, 0)
            AS detail
       FROM letters_by_age_of_all a
       FULL JOIN (SELECT number_range, sum(count) AS count, min(first_at) AS first_at, max(last_at) AS last_at,
                         min(first_min) AS first_min, max(first_max) AS first_max
                    FROM letters_by_age GROUP BY number_range) s USING (number_range)
      WHERE coalesce(a.count, 0) <> coalesce(s.count, 0) OR a.first_at > s.first_at OR a.last_at < s.last_at
         OR a.first_min > s.first_min OR a.first_max < s.first_max`,
    `SELECT 'queue ' || coalesce(t.queue, i.queue) || ' counts ' || coalesce(t.count, 0) || ' dead items with '
            || coalesce(t.attempts, i.attempts) || ' attempts, there are ' || coalesce(i.n, 0) AS detail
       FROM letters_by_attempts t
       FULL JOIN (SELECT queue, attempts, count(*) AS n FROM items WHERE state = 'dead' GROUP BY 1, 2) i
              ON i.queue = t.queue AND i.attempts = t.attempts
      WHERE coalesce(t.count, 0) <> coalesce(i.n, 0)`,
  ],
  "an operation accounts for every letter": [
    `SELECT 'letter ' || s.no || ' of operation ' || o.id || ' is pending and was passed over' AS detail
       FROM operations o JOIN selections s ON s.operation = o.no AND s.no <= o.next_no AND s.status = 'pending'`,
  ],
  "items with one ordering key run one at a time": [
    `SELECT 'item ' || i.item_id || ' can be leased before earlier items with its ordering key' AS detail FROM items i
      WHERE i.ordering_key IS NOT NULL AND i.state = 'ready' AND i.waits = 0 AND EXISTS (${FIRST})`,
    `SELECT 'item ' || i.item_id || ' waits, though no earlier item has its ordering key' AS detail FROM items i
      WHERE i.ordering_key IS NOT NULL AND i.state = 'ready' AND i.waits = 1 AND NOT EXISTS (${FIRST})`,
  ],
  "every event has its number": [
    `SELECT 'events up to ' || id || ' are ' || span || ', and name ' || json_array_length(refs) || ' items' AS detail
       FROM events WHERE refs IS NOT NULL AND (json_array_length(refs) <> span OR ref IS NOT NULL OR data IS NOT NULL)`,
    `SELECT 'the ' || span || ' events up to ' || id || ' begin before the last one, ' || last AS detail
       FROM (SELECT id, span, lag(id, 1, 0) OVER (ORDER BY id) AS last FROM events) WHERE id - span < last`,
  ],
  [TEXT_RULE]: [
    `SELECT 'template ' || w.no || ' counts ' || w.count || ' letters, there are ' || count(s.no) AS detail
       FROM message_templates w LEFT JOIN indexed_messages s ON s.template = w.no GROUP BY w.no HAVING w.count <> count(s.no)`,
    `SELECT 'letter ' || l.no || ' is neither indexed nor to be indexed' AS detail FROM letters l
      WHERE l.no <= ${INDEXED_TO} AND NOT EXISTS (SELECT 1 FROM indexed_messages s WHERE s.no = l.no)
        AND NOT EXISTS (SELECT 1 FROM unindexed_letters u WHERE u.no = l.no)`,
    `SELECT 'letter ' || u.no || ' is indexed and to be indexed' AS detail FROM unindexed_letters u JOIN indexed_messages s ON s.no = u.no`,
    ...["indexed_messages", "unindexed_letters"].map(
      (table) => `
        SELECT 'letter ' || t.no || ' is in ${table} and does not exist' AS detail FROM ${table} t
         WHERE t.no > ${INDEXED_TO} OR NOT EXISTS (SELECT 1 FROM letters l WHERE l.no = t.no)`,
    ),
    `SELECT 'letter ' || l.no || ' is of group ' || l.grp || ', its template of ' || w.grp AS detail
       FROM letters l JOIN indexed_messages s ON s.no = l.no JOIN message_templates w ON w.no = s.template WHERE w.grp <> l.grp`,
  ],
};

interface JsonColumn {
  readonly table: string;
  readonly column: string;
  /** An SQL expression for the owner of the text, used in messages. */
  readonly name: string;
  readonly mustBeObject: boolean;
}

const ITEM = "'item ' || (SELECT i.item_id FROM items i WHERE i.ref = t.ref)";
const COLUMNS: readonly JsonColumn[] = [
  { table: "payloads", column: "data", name: ITEM, mustBeObject: false },
  { table: "payloads", column: "options", name: ITEM, mustBeObject: true },
  { table: "progress", column: "value", name: ITEM, mustBeObject: false },
  { table: "attempts", column: "failure", name: `${ITEM} || ' attempt ' || t.number`, mustBeObject: true },
  { table: "attempts", column: "result", name: `${ITEM} || ' attempt ' || t.number`, mustBeObject: false },
  { table: "letters", column: "artifacts", name: ITEM, mustBeObject: true },
  { table: "resolved_letters", column: "artifacts", name: ITEM, mustBeObject: true },
  { table: "amendments", column: "before", name: ITEM, mustBeObject: false },
  { table: "events", column: "data", name: "'event ' || t.id", mustBeObject: true },
];

/** Checks at most `max` suspicious texts per column. */
function checkJson(session: Session, max: number): Problem[] {
  const problems: Problem[] = [];
  for (const { table, column, name, mustBeObject } of COLUMNS) {
    // SQLite allows less nesting than Redrive's parser, so texts that SQLite rejects are parsed again.
    const isSuspect = `NOT json_valid(t.${column})${mustBeObject ? ` OR json_type(t.${column}) <> 'object'` : ""}`;
    const suspects = session.all<{ detail: string | null; text: string }>(
      `SELECT ${name} AS detail, t.${column} AS text FROM ${table} t
        WHERE t.${column} IS NOT NULL AND (${isSuspect}) LIMIT ${max}`,
    );
    for (const { detail, text } of suspects) {
      if (isReadable(text, mustBeObject)) continue;
      problems.push({ rule: "texts can be read", detail: `${detail ?? table}: its ${column} is not JSON` });
    }
  }
  return problems;
}

function isReadable(text: string, mustBeObject: boolean): boolean {
  let value: Json;
  try {
    value = parseJson(text);
  } catch {
    return false;
  }
  return !mustBeObject || isJsonObject(value);
}

const STEP = 1000;

/** Reads the messages of all indexed dead letters again and compares them with the index. */
function checkTexts(session: Session, max: number): Problem[] {
  const problems: Problem[] = [];
  for (let after = 0; problems.length < max; ) {
    const rows = session.tuples<IndexedRow>(
      `SELECT s.no, w.text, s.parameters, w.is_open, json_extract(${lastFailureOf("l.ref")}, '$.error_message')
         FROM indexed_messages s CROSS JOIN letters l ON l.no = s.no CROSS JOIN items i ON i.ref = l.ref AND i.state = 'dead'
              CROSS JOIN message_templates w ON w.no = s.template
        WHERE s.no > ? ORDER BY s.no LIMIT ${STEP}`,
      after,
    );
    const wrong = rows.filter((row) => !isAsIndexed(row));
    problems.push(
      ...wrong.map(([no]) => ({
        rule: TEXT_RULE,
        detail: `letter ${no} has another message than the indexed one`,
      })),
    );
    if (rows.length < STEP) break;
    after = rows.at(-1)?.[0] ?? after;
  }
  return problems;
}

type IndexedRow = readonly [
  no: number,
  text: string,
  parameters: string,
  isOpen: number,
  message: string | null,
];

function isAsIndexed([, text, parameters, isOpen, message]: IndexedRow): boolean {
  const template = templateOf(typeof message === "string" ? message : "");
  return template.text === text && template.parameters === parameters && template.isOpen === (isOpen === 1);
}
