/** The records of agents that ran as steps, and the sums of their usage. Costs are stored in billionths of a dollar. */
import type { AgentRun, AgentRunQuery, UsageQuery, UsageSum } from "../../item/agent-run.ts";
import { type AgentUsage, nanoUsd, usdOf } from "../../item/agent-usage.ts";
import { compact } from "../../std/json.ts";
import type { Db, SqlValue, Step } from "./db.ts";
import { queueNo } from "./jobs.ts";

export const AGENT_RUN_COLUMNS = [
  ...["id", "queue", "ref", "attempt", "step", "agent", "session", "model"],
  ...[
    "cost",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "turns",
    "is_final",
    "started_at",
    "updated_at",
  ],
];

export function* writeAgentRuns(db: Db, queue: string, runs: readonly AgentRun[]): Step<void> {
  if (runs.length === 0) return;
  const no = yield* queueNo(db, queue);
  const rows = runs.map(({ id, lease, step, agent, session, usage, isFinal, startedAt, updatedAt }) => [
    ...[
      id,
      no,
      lease?.ref ?? null,
      lease?.attempt ?? null,
      step,
      agent,
      session ?? null,
      usage.model ?? null,
    ],
    usage.costUsd === undefined ? null : nanoUsd(usage.costUsd),
    ...[
      usage.inputTokens ?? null,
      usage.cachedTokens ?? null,
      usage.outputTokens ?? null,
      usage.turns ?? null,
    ],
    ...[isFinal ? 1 : 0, startedAt, updatedAt],
  ]);
  const changed = AGENT_RUN_COLUMNS.slice(5).map((column) => `${column} = excluded.${column}`);
  yield* db.insert(
    `agent_runs (${AGENT_RUN_COLUMNS.join(", ")})`,
    rows,
    `ON CONFLICT (id) DO UPDATE SET ${changed.join(", ")}`,
  );
}

interface Row {
  readonly id: string;
  readonly ref: number | null;
  readonly attempt: number | null;
  readonly step: string;
  readonly agent: string;
  readonly session: string | null;
  readonly model: string | null;
  readonly is_final: number;
  readonly started_at: number;
  readonly updated_at: number;
}

export function* listAgentRuns(db: Db, query: AgentRunQuery): Step<AgentRun[]> {
  const { typed } = db.sql;
  const rows = yield* db.all<AgentRunRow>(
    `SELECT ${AGENT_RUN_COLUMNS.join(", ")} FROM agent_runs
      WHERE queue = ?1 AND (${typed("?2", "bigint")} IS NULL OR ref = ?2)
        AND (${typed("?3", "text")} IS NULL OR session = ?3)
      ORDER BY started_at, id LIMIT ?4`,
    ...[yield* queueNo(db, query.queue), query.ref ?? null, query.session ?? null, query.limit],
  );
  return rows.map(agentRunOf);
}

export type AgentRunRow = Row & Counts;

export function agentRunOf(row: AgentRunRow): AgentRun {
  return compact({
    id: row.id,
    lease: row.ref === null || row.attempt === null ? undefined : { ref: row.ref, attempt: row.attempt },
    step: row.step,
    agent: row.agent,
    session: row.session ?? undefined,
    usage: compact({ model: row.model ?? undefined, ...usageOf(row) }),
    isFinal: row.is_final === 1,
    startedAt: row.started_at,
    updatedAt: row.updated_at,
  });
}

interface Counts {
  readonly cost: number | null;
  readonly input_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly output_tokens: number | null;
  readonly turns: number | null;
}

function usageOf(row: Counts): AgentUsage {
  return compact({
    costUsd: row.cost === null ? undefined : usdOf(row.cost),
    inputTokens: row.input_tokens ?? undefined,
    cachedTokens: row.cached_tokens ?? undefined,
    outputTokens: row.output_tokens ?? undefined,
    turns: row.turns ?? undefined,
  });
}

const SUMS = `count(*) AS runs, ${["cost", "input_tokens", "cached_tokens", "output_tokens", "turns"]
  .map((column) => `CAST(sum(r.${column}) AS bigint) AS ${column}`)
  .join(", ")}`;

export function* sumAgentUsage(db: Db, query: UsageQuery): Step<UsageSum[]> {
  const { sql, values } = selectionOf(db, query);
  const rows = yield* db.all<Counts & { readonly key: string | number; readonly runs: number }>(
    sql,
    ...values,
  );
  return rows.map((row) => ({ key: String(row.key), runs: row.runs, usage: usageOf(row) }));
}

function selectionOf({ sql }: Db, query: UsageQuery): { sql: string; values: readonly SqlValue[] } {
  switch (query.by) {
    case "queue": {
      const { queues } = query;
      const where = queues === undefined ? "" : `WHERE ${sql.among("q.name", "?1", "text")}`;
      return {
        sql: `SELECT q.name AS key, ${SUMS} FROM agent_runs r JOIN queues q ON q.no = r.queue ${where}
               GROUP BY q.name ORDER BY 1`,
        values: queues === undefined ? [] : [queues],
      };
    }
    case "item":
      return {
        sql: `SELECT r.ref AS key, ${SUMS} FROM agent_runs r JOIN queues q ON q.no = r.queue
               WHERE q.name = ?1 AND ${sql.among("r.ref", "?2", "bigint")} GROUP BY r.ref ORDER BY r.ref`,
        values: [query.queue, query.refs],
      };
    case "attempt":
      return {
        sql: `SELECT r.attempt AS key, ${SUMS} FROM agent_runs r WHERE r.ref = ?1 GROUP BY r.attempt ORDER BY r.attempt`,
        values: [query.ref],
      };
    case "group":
      return {
        sql: `SELECT g.signature AS key, ${SUMS}
                FROM groups g JOIN queues q ON q.no = g.queue JOIN letters l ON l.grp = g.no
                     JOIN agent_runs r ON r.ref = l.ref
               WHERE EXISTS (SELECT 1 FROM agent_runs) AND ${sql.among("g.signature", "?1", "text")}
                 AND (${sql.typed("?2", "text")} IS NULL OR q.name = ?2)
               GROUP BY g.signature ORDER BY g.signature`,
        values: [query.signatures, query.queue ?? null],
      };
  }
}
