/**
 * The JSON documents that the API returns, which are the same as those of the command line. More fields may
 * be added later.
 */
import * as z from "zod";
import { ERROR_CLASSES } from "../../item/error-type.ts";
import { EVENT_TYPES } from "../../item/event.ts";
import { GROUP_STATES } from "../../item/group.ts";
import { ATTEMPT_OUTCOMES, PRIORITIES } from "../../item/item.ts";
import { JOB_KINDS, JOB_STATUSES } from "../../item/job.ts";
import { OPERATION_KINDS, OPERATION_STATUSES } from "../../item/operation.ts";
import { ITEM_STATES } from "../../item/state.ts";

export const time = z.string().meta({ format: "date-time", description: "RFC 3339, UTC, milliseconds" });
export const count = z.number().int().min(0);
export const data = z.unknown().meta({ description: "any JSON value" });

export const next = z
  .string()
  .nullable()
  .meta({ description: "the cursor of the next page; null on the last page" });

export const failure = z
  .looseObject({
    attempt_number: count,
    timestamp: time,
    error_type: z.unknown().meta({ description: "a name, or an object with the name and its fields" }),
    error_class: z.enum(ERROR_CLASSES),
    error_message: z.string(),
    step_failed: z.string(),
    agent_id: z.string(),
    duration_ms: z.number(),
    error_context: z.array(z.string()).optional(),
    stack_trace: z.string().optional(),
    exit_code: z.number().optional(),
    signal: z.string().optional(),
    stdout_tail: z.string().optional(),
    stderr_tail: z.string().optional(),
    log: z.string().optional(),
    json_log_location: z.string().optional(),
  })
  .meta({ id: "Failure" });

export const note = z.looseObject({ at: time, author: z.string(), text: z.string() }).meta({ id: "Note" });

export const letter = z
  .looseObject({
    item_id: z.string(),
    item_data: data,
    job_id: z.string(),
    queue: z.string(),
    state: z.enum(ITEM_STATES),
    reason: z.string(),
    first_attempt: time,
    last_attempt: time,
    failure_count: count,
    failure_history: z.array(failure),
    error_signature: z.string(),
    error_pattern: z.string(),
    reprocess_eligible: z.boolean(),
    manual_review_required: z.boolean(),
    revision: count,
    redrive_count: count,
    poison: z.boolean().optional(),
    notes: z.array(note).optional(),
    amendments: z.array(z.looseObject({ revision: count, at: time, author: z.string() })).optional(),
    resolution: z.looseObject({ kind: z.string(), at: time }).optional(),
  })
  .meta({ id: "Letter" });

export const groupRecord = z.looseObject({
  state: z.enum(GROUP_STATES),
  since: time,
  regressions: count,
  is_regression: z.boolean(),
  notes: z.array(note),
  fixes: z.array(z.looseObject({ at: time, kind: z.string(), count })),
});

export const event = z
  .looseObject({
    id: count,
    at: time,
    type: z.enum(EVENT_TYPES),
    job_id: z.string().optional(),
    item_id: z.string().optional(),
    attempt: count.optional(),
    data: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: "Event" });

/** The summed usage of agents. A value that no agent reported is absent. */
export const usage = z
  .looseObject({
    cost_usd: z.number().optional(),
    input_tokens: count.optional(),
    cached_tokens: count.optional(),
    output_tokens: count.optional(),
    turns: count.optional(),
    model: z.string().optional(),
  })
  .meta({ id: "AgentUsage" });

/** One agent that ran as a step of an attempt. */
export const agentRun = usage
  .extend({
    attempt_number: count.optional(),
    step: z.string(),
    agent: z.string(),
    session: z.string().optional(),
    open_command: z
      .string()
      .optional()
      .meta({ description: "the command that opens the session interactively, in its folder" }),
    is_final: z.boolean().meta({ description: "whether the agent reported its final result" }),
    started_at: time,
    updated_at: time,
  })
  .meta({ id: "AgentRun" });

export const letterDetails = letter
  .extend({
    group_count: count,
    group: groupRecord.nullable(),
    events: z.array(event),
    requeued_from: z.string().optional(),
    requeued_as: z.array(z.string()).optional(),
    usage: usage.optional().meta({ description: "the usage of the agents in all attempts" }),
    agent_runs: z.array(agentRun).optional(),
  })
  .meta({ id: "LetterDetails" });

export const group = z
  .looseObject({
    signature: z.string(),
    title: z.string(),
    pattern: z.string(),
    count,
    error_type: z.string().nullable(),
    error_class: z.enum(ERROR_CLASSES).nullable(),
    first_occurrence: time.nullable(),
    last_occurrence: time.nullable(),
    jobs: z.array(z.string()),
    state: z.enum(GROUP_STATES),
    is_regression: z.boolean(),
    sample_items: z.array(z.string()),
    location: z.string().nullable().optional(),
    usage: usage.optional().meta({ description: "the usage of agents for the waiting letters" }),
    assignee: z.string().optional().meta({ description: "the person the group is assigned to" }),
    arrivals: z
      .array(count)
      .optional()
      .meta({ description: "the number of letters in each of the last 24 hours, oldest first" }),
    helped: z
      .looseObject({ kind: z.string(), count })
      .optional()
      .meta({ description: "the fix that resolved the most letters, and how many" }),
  })
  .meta({ id: "Group" });

export const groupDetails = group.extend(groupRecord.shape).meta({ id: "GroupDetails" });

export const explanation = z
  .looseObject({
    signature: z.string(),
    pattern: z.string(),
    would_move: z.boolean(),
    nearest: z.array(z.looseObject({ signature: z.string(), count, distance: z.number() })),
  })
  .meta({ id: "Explanation" });

export const refusal = z.looseObject({ reason: z.string(), count });

export const operation = z
  .looseObject({
    operation_id: z.string(),
    kind: z.enum(OPERATION_KINDS),
    job_id: z.string(),
    status: z.enum(OPERATION_STATUSES),
    selected: count,
    done: count,
    redriven: count,
    refused: count,
    succeeded: count,
    failed: count,
    remaining: count,
    created_at: time,
    ended_at: time.optional(),
    author: z.string(),
    reason: z.string().optional(),
    undoes: z.string().optional(),
  })
  .meta({ id: "Operation" });

export const operationDetails = operation
  .extend({
    waits_for_worker: z
      .boolean()
      .meta({ description: "whether it waits until a worker processes the queue, because none does now" }),
    force: z.boolean(),
    filter: z.record(z.string(), z.unknown()),
    plan: z.record(z.string(), z.unknown()),
    progress: z.record(z.string(), z.unknown()),
    refusals: z.array(refusal),
    letters: z.array(
      z.looseObject({
        item_id: z.string(),
        error_signature: z.string(),
        status: z.enum(["pending", "done", "refused"]),
        reason: z.string().optional(),
      }),
    ),
  })
  .meta({ id: "OperationDetails" });

export const jobGroup = z.looseObject({ signature: z.string(), pattern: z.string(), count });

export const job = z
  .looseObject({
    job_id: z.string(),
    name: z.string(),
    kind: z.enum(JOB_KINDS),
    status: z.enum(JOB_STATUSES),
    total: count,
    succeeded: count,
    dead: count,
    skipped: count,
    discarded: count,
    remaining: count,
    attempts: count,
    duration_ms: z.number(),
    started_at: time,
    command: z.string(),
    cwd: z.string().nullable(),
    dismissed: z.boolean(),
    is_paused: z.boolean().optional().meta({ description: "only when a single job is shown" }),
    usage: usage.optional().meta({ description: "the usage of the job's agents" }),
    groups: z.array(jobGroup),
  })
  .meta({ id: "Job" });

export const queue = z
  .looseObject({
    name: z.string(),
    created_at: time,
    is_paused: z.boolean(),
    counts: z.record(z.string(), count),
    oldest_ready_ms: z.number().nullable(),
    waited_ms: z.looseObject({ p50: z.number(), p95: z.number(), items: count }).optional().meta({
      description: "how long the items that started last had waited; given where one queue is shown",
    }),
    breaker: z.unknown().meta({ description: "the state of the circuit breaker; null if there is none" }),
    workers: z.array(z.looseObject({ holder: z.string(), host: z.string(), pid: z.number(), leased: count })),
    settings: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "Queue" });

export const item = z
  .looseObject({
    item_id: z.string(),
    queue: z.string(),
    state: z.enum(ITEM_STATES),
    priority: z.enum(PRIORITIES),
    due_at: time,
    attempts: count,
    revision: count,
    redrive_count: count,
    data,
    usage: usage.optional().meta({ description: "the usage of the item's agents; only in lists" }),
    result: z.unknown().optional().meta({ description: "what a done item returned; absent without one" }),
  })
  .meta({ id: "Item" });

export const attempt = z
  .looseObject({
    outcome: z.enum(ATTEMPT_OUTCOMES),
    started_at: time,
  })
  .meta({ id: "Attempt" });

export const itemDetails = item
  .extend({ result: z.unknown(), attempt_history: z.array(attempt), notes: z.array(note) })
  .meta({ id: "ItemDetails" });

export const problem = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    code: z.string(),
    hint: z.string().optional(),
    field: z.string().optional(),
    reference: z.string().optional(),
  })
  .meta({ id: "Problem" });
