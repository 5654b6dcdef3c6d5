/**
 * Reads the records related to a letter in one statement: on PostgreSQL each statement is a round trip. The rows of each table
 * come as JSON.
 */
import type { LetterRecords, StoredLetter } from "../../engine.ts";
import { compact } from "../../std/json.ts";
import { AGENT_RUN_COLUMNS, type AgentRunRow, agentRunOf } from "./agent-runs.ts";
import { type AttemptRow, attemptsOf, lazyAttemptOf } from "./attempts.ts";
import type { Dialect } from "./db.ts";
import { type FixRow, fixOf, groupColumns, ifAny, type RecordRow, recordOf } from "./group-records.ts";
import { OPERATION_SQL, operationOf, storedOf } from "./operations.ts";

/** Everything but the events, which each engine finds in its own way. */
export function recordsOf(letter: StoredLetter, row: RecordsRow): Omit<LetterRecords, "events"> {
  const [record] = rowsIn<RecordRow>(row.records);
  const notes = rowsIn<LetterNoteRow>(row.group_notes);
  const fixes = rowsIn<FixRow>(row.fixes).map(fixOf);
  const requeuedAs = rowsIn<string>(row.requeued_as);
  return {
    letter,
    attempts: rowsIn<AttemptRow>(row.tries).map(lazyAttemptOf),
    operations: rowsIn<object>(row.operations).map((one) => operationOf(storedOf(one))),
    groupCount: row.group_count ?? 0,
    group: record === undefined ? null : recordOf(record, { notes, fixes }),
    links: compact({
      requeuedFrom: row.requeued_from ?? undefined,
      requeuedAs: requeuedAs.length > 0 ? requeuedAs : undefined,
    }),
    agentRuns: rowsIn<AgentRunRow>(row.agent_runs).map(agentRunOf),
  };
}

type LetterNoteRow = NonNullable<LetterRecords["group"]>["notes"][number];

/** Each text is the JSON of a list, or null if a list would be empty. */
export type RecordsRow = { readonly [Name in TextName]: string | null } & {
  readonly requeued_from: string | null;
  readonly group_count: number | null;
};

type TextName = "tries" | "operations" | "requeued_as" | "records" | "group_notes" | "fixes" | "agent_runs";

function rowsIn<One>(text: string | null): readonly One[] {
  return text === null ? [] : (JSON.parse(text) as readonly One[]);
}

/** SQL for what identifies the records of a letter. */
interface Names {
  readonly ref: string;
  readonly queue: string;
  readonly signature: string;
}

/** The records as columns of a SELECT. */
export function recordColumns(sql: Dialect, { ref, queue, signature }: Names): string {
  const { jsonRows, jsonArray } = sql;
  const queueNo = `(SELECT no FROM queues WHERE name = ${queue})`;
  const runs = `SELECT * FROM agent_runs WHERE queue = ${queueNo} AND ref = ${ref} ORDER BY started_at, id LIMIT ${AGENT_RUNS_MAX}`;
  return `${jsonRows(attemptsOf(ref), ATTEMPT_COLUMNS)} AS tries,
    ${jsonRows(`${OPERATION_SQL} WHERE q.name = ${queue} ORDER BY o.no`, OPERATION_COLUMNS)} AS operations,
    (SELECT o.item_id FROM items o WHERE o.ref = (SELECT origin FROM items WHERE ref = ${ref})) AS requeued_from,
    (SELECT ${jsonArray("c.item_id")} FROM (SELECT item_id FROM items WHERE origin = ${ref} ORDER BY ref) c) AS requeued_as,
    (SELECT CAST(sum(g.count) AS bigint) FROM groups g WHERE g.queue = ${queueNo} AND g.signature = ${signature}) AS group_count,
    ${groupColumns(sql, signature)},
    ${ifAny(`agent_runs WHERE ref = ${ref}`, jsonRows(runs, AGENT_RUN_COLUMNS))} AS agent_runs`;
}

const AGENT_RUNS_MAX = 1000;

const ATTEMPT_COLUMNS = ["number", "outcome", "holder", "started_at", "ended_at", "failure", "log", "result"];

const OPERATION_COLUMNS = [
  ...[
    "no",
    "id",
    "kind",
    "queue",
    "queue_no",
    "filter",
    "force",
    "author",
    "reason",
    "selection",
    "undoes",
    "plan",
  ],
  ...["status", "created_at", "ended_at", "bound", "next_no", "complete", "cursor", "progress"],
  ...["selected", "done", "refused", "succeeded", "failed", "returned"],
];
