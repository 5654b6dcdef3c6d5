/** Defines the format of workflow files. The validator, its types and the JSON Schema for editors are derived from it. */
import * as z from "zod";
import { ITEM_FAILURE_ACTIONS, OUTAGE_ACTIONS, TIMEOUT_ACTIONS } from "../retry/policy.ts";
import { count, duration, jsonSchemaOf, ratio, required, scalar, schemaTextOf } from "../yaml/form.ts";
import { KEEP_WORKTREES, MERGE_STRATEGIES } from "./model.ts";
import { retryForm, stepForm, stepsForm } from "./step-form.ts";

const phase = z.union([
  z.array(stepForm),
  z.strictObject({
    commands: z.array(stepForm),
    timeout: duration.optional().describe("The time limit for all steps of the phase together."),
  }),
]);

const mergeForm = z.union([
  z.array(stepForm),
  z.strictObject({
    commands: z.array(stepForm).optional(),
    timeout: duration.optional().describe("The time limit for all steps of the phase together."),
    strategy: z
      .enum(MERGE_STRATEGIES)
      .optional()
      .describe(
        "How the work of an item is merged: commit-per-item (default) makes a merge commit with the agent's commits, squash one commit, branch-per-item a branch that is not merged.",
      ),
    on_conflict: stepsForm
      .optional()
      .describe(
        "Steps that resolve a merge conflict in the item's worktree; ${conflict.files} names the files.",
      ),
    message: required("a message")
      .optional()
      .describe("The message of the item's commit, e.g. Fix ${item.path}. Default: redrive: ITEM."),
  }),
]);

const verifyForm = z
  .union([
    z.array(stepForm),
    z.strictObject({
      steps: z.array(stepForm),
      batch: count(1)
        .optional()
        .describe(
          "Run the steps when this many items wait, or when nothing else runs. Default 1: as soon as an item waits.",
        ),
      timeout: duration.optional().describe("The time limit of one run of the steps. Default 30m."),
    }),
  ])
  .meta({ id: "verify" });

const mapForm = z
  .strictObject({
    input: z
      .union([
        required("a file"),
        z.strictObject({ command: required("a command").describe("A command whose output is the input.") }),
      ])
      .describe("A file (JSON, JSON Lines, CSV or lines), or a command that prints the items."),
    json_path: required("a path").optional().describe("RFC 9535, e.g. $.items[*]."),
    id_field: required("a field")
      .optional()
      .describe("The field that contains the item id. Default: the id is a hash of the content."),
    filter: required("an expression").optional().describe("CEL over item, e.g. item.priority > 3."),
    sort_by: z
      .union([required("a field"), z.array(required("a field"))])
      .optional()
      .describe(
        "FIELD [ASC|DESC] [NULLS FIRST|LAST]; several keys are separated by commas or given as a list.",
      ),
    distinct: z
      .union([required("a field"), z.boolean()])
      .optional()
      .describe("Drops duplicates."),
    offset: count(0).optional(),
    max_items: count(0).optional(),
    max_parallel: count(1).optional().describe("How many agents to run at a time. Default 10."),
    agent_timeout_secs: z.number().gt(0, "expected a number of seconds above 0").optional(),
    isolation: z
      .enum(["worktree", "none"])
      .optional()
      .describe("Where agents work. Default worktree: each agent has its own worktree."),
    remote: required("a remote")
      .optional()
      .describe(
        "A git remote for the job's branch, so that workers on other machines, with their own clones, can take part.",
      ),
    keep: z
      .array(required("a path"))
      .optional()
      .describe("Paths that are kept in a worktree, e.g. node_modules."),
    keep_worktrees: z
      .enum(KEEP_WORKTREES)
      .optional()
      .describe(
        "Which worktrees to keep: never (none), failed (those of letters) or always (all). Default failed.",
      ),
    agent_template: z
      .union([z.array(stepForm), z.strictObject({ commands: z.array(stepForm) })])
      .describe("The steps for each item."),
  })
  .meta({ id: "map" });

const errorPolicyForm = z
  .strictObject({
    on_item_failure: z
      .union([z.enum([...ITEM_FAILURE_ACTIONS, "custom"]), z.strictObject({ custom: stepsForm })])
      .optional()
      .describe("What to do with an item that is out of retries. Default dlq."),
    custom_handler: stepsForm.optional().describe("The steps for on_item_failure: custom."),
    continue_on_failure: z
      .boolean()
      .optional()
      .describe("Whether the job continues after an item has died. Default true."),
    max_failures: count(1).optional().describe("Stop when this many items have died."),
    failure_threshold: ratio(1)
      .optional()
      .describe("Stop when more than this share of the items has died, 0 to 1."),
    retry_config: retryForm.optional(),
    on_outage: z
      .enum(OUTAGE_ACTIONS)
      .optional()
      .describe(
        "What to do when a service is down or throttles: retry counts attempts, wait pauses the job and counts none. Default: agent steps wait for up to an hour, others retry.",
      ),
    on_timeout: z
      .enum(TIMEOUT_ACTIONS)
      .optional()
      .describe(
        "What to do with an item that exceeds its time limit: retry (default) like any failure, skip it, or stop the job.",
      ),
    max_outage: duration
      .optional()
      .describe("For on_outage: wait. After this time, attempts count again. Default 24h."),
    circuit_breaker: z
      .strictObject({
        failure_threshold: count(1)
          .optional()
          .describe("How many failures in a row open the breaker. Default 5."),
        success_threshold: count(1)
          .optional()
          .describe("How many successful probes close the breaker. Default 3."),
        timeout: duration.optional().describe("How long the breaker stays open. Default 30s."),
        half_open_requests: count(1).optional().describe("How many probes run at a time. Default 3."),
      })
      .optional(),
  })
  .meta({ id: "error_policy" });

const envFile = z.strictObject({
  path: required("a file"),
  required: z.boolean().optional().describe("Whether the file must exist. Default true."),
});

const positive = z.number().gt(0, "expected a number above 0");
const limits = {
  usd: positive.optional().describe("Dollars."),
  tokens: count(1).optional().describe("Input and output tokens together."),
  turns: count(1).optional().describe("Model calls."),
};

const budgetForm = z
  .strictObject({
    ...limits,
    attempt: z.strictObject(limits).optional().describe("The limits of each attempt."),
  })
  .meta({ id: "budget" });

export const workflowForm = z
  .strictObject({
    name: required("a name").optional().describe("The name of the workflow. Default: the file name."),
    description: z.string().optional().describe("A description for people."),
    mode: z.literal("mapreduce", { error: "the only mode is mapreduce" }).optional(),
    env: z
      .record(z.string(), scalar)
      .optional()
      .describe("Environment variables for every step of every phase."),
    profiles: z
      .record(z.string(), z.record(z.string(), scalar))
      .optional()
      .describe("Environment variables by profile. `redrive run --profile NAME` adds them to env."),
    secrets: z
      .array(
        z.union([
          required("a name"),
          z.strictObject({
            name: required("a name"),
            file: required("a file").describe("A file with the value."),
          }),
        ]),
      )
      .optional()
      .describe("Environment variables whose values are never shown."),
    env_files: z
      .union([required("a file"), z.array(z.union([required("a file"), envFile])), envFile])
      .optional()
      .describe("Files with NAME=value lines, relative to the folder of the run."),
    setup: phase.optional().describe("Runs once, before the items."),
    steps: stepsForm.optional().describe("Steps that run once, one after another, instead of map."),
    isolation: z
      .enum(["worktree", "none"])
      .optional()
      .describe("For steps: where they run. Default worktree: a separate worktree."),
    iterations: count(1)
      .optional()
      .describe("For steps: how often they run, each time on top of the previous work. Default 1."),
    map: mapForm.optional(),
    verify: verifyForm
      .optional()
      .describe(
        "Steps that check the combined work of items. An item is done only after they have passed with its work; one that breaks them is left out.",
      ),
    reduce: phase.optional().describe("Runs once, after the items."),
    merge: mergeForm
      .optional()
      .describe("Steps that run before the job's branch is merged, and how the work of items is merged."),
    error_policy: errorPolicyForm.optional(),
    budget: budgetForm.optional().describe("How much the agents of the job may use. Default: no limit."),
    retry: retryForm.optional().describe("The default for error_policy.retry_config."),
  })
  .meta({ title: "A Redrive workflow", oneOf: [{ required: ["map"] }, { required: ["steps"] }] });

export type WorkflowForm = z.infer<typeof workflowForm>;
export type PhaseForm = z.infer<typeof phase>;
export type MergeForm = z.infer<typeof mergeForm>;
export type ErrorPolicyForm = z.infer<typeof errorPolicyForm>;

export const workflowJsonSchema = () => jsonSchemaOf(workflowForm);
export const schemaText = () => schemaTextOf(workflowForm);
