/** `redrive run --dry-run`: prints the selected items, the steps for the first one, and the policy. */
import type { Job } from "../item/job.ts";
import { type Backoff, OUTAGE_MS_MAX, type Policy } from "../retry/policy.ts";
import { withJobRuntime } from "../run/run-job.ts";
import { selectWorkflowItems } from "../run/workflow-items.ts";
import { jobVariables, openWorkflowRuntime } from "../run/workflow-runtime.ts";
import { systemClock } from "../std/clock.ts";
import { formatDuration } from "../std/duration.ts";
import { asText } from "../std/json.ts";
import type { Workflow } from "../workflow/model.ts";
import { stepLabel } from "../workflow/step-label.ts";
import { plain, type WorkflowSpec } from "../workflow/workflow-spec.ts";
import type { Context } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { detailsText } from "./render/layout.ts";
import { capped, counted, fit, listed, some } from "./render/text.ts";

const SHOWN_MAX = 10;

/** Runs only the command of a `{command: …}` input, which prints the items. Writes nothing. */
export async function dryRun(context: Context, spec: WorkflowSpec): Promise<number> {
  const { workflow } = spec;
  const { items, counts, steps } = await lookAhead(context, spec);
  const policy = policyText(workflow.policy);
  context.answer(
    {
      workflow: workflow.name,
      dry_run: true,
      counts: { ...counts },
      items: items.map(({ itemId, data }) => ({ item_id: itemId, data })),
      first_steps: steps,
      max_parallel: workflow.map.maxParallel,
      isolation: workflow.map.isolation,
      policy,
    },
    () => dryRunText(context, workflow, { items, counts, steps, policy }),
  );
  return EXIT.done;
}

/** Resolves the input and the steps in the project's folder, because a dry run creates no worktree. */
async function lookAhead(context: Context, spec: WorkflowSpec) {
  const map = { ...spec.workflow.map, isolation: "none" as const };
  const plainSpec = { ...spec, workflow: { ...spec.workflow, map } };
  const now = systemClock.now();
  const job: Job = {
    id: "dry-run",
    name: spec.workflow.name,
    kind: "workflow",
    spec: plain(plainSpec),
    status: "running",
    progress: {},
    intakeComplete: false,
    createdAt: now,
    startedAt: now,
  };
  const { openStore } = await import("../engines/open.ts");
  const engine = await openStore("memory:");
  const stop = new AbortController().signal;
  return withJobRuntime(job, { engine, home: context.home, clock: systemClock, stop }, async (workshop) => {
    const kit = await openWorkflowRuntime(job, workshop);
    const { items, counts } = await selectWorkflowItems(kit, stop);
    const [first] = items;
    const variables = { ...jobVariables(kit), ...(first && { item: first.data, item_id: first.itemId }) };
    const steps = first
      ? spec.workflow.map.steps.map((step) => stepLabel(step, variables, kit.masker.mask))
      : [];
    return { items, counts, steps };
  });
}

function dryRunText(
  { paint, columns }: Context,
  { map, setup, reduce }: Workflow,
  { items, counts, steps, policy }: Awaited<ReturnType<typeof lookAhead>> & { policy: readonly string[] },
): string {
  const read = listed([
    `${paint.bold(counted(counts.selected, "item"))} of ${counts.read} read`,
    some(counts.filtered, "left out by the filter"),
    some(counts.duplicates, "duplicates"),
    some(counts.skipped, "skipped by offset"),
    some(counts.beyond, "beyond max_items"),
  ]);
  const itemLines = items.map((item) => fit(`${item.itemId}  ${asText(item.data)}`, columns - 2));
  const ownPlace = map.isSequential ? "in one worktree" : "each in a worktree";
  const where = map.isolation === "worktree" ? ownPlace : "in this folder";
  const first = counted(setup.length, "step");
  const last = counted(reduce.length, "step");
  return `${read}.\n${capped(itemLines, SHOWN_MAX)
    .map((line) => `  ${line}\n`)
    .join("")}\n${detailsText(
    [
      {
        title: `For each item (${map.maxParallel} at a time, ${where}); the first:`,
        lines: steps.map((step, index) => `${index + 1}. ${fit(step, columns - 5)}`),
        facts: [],
      },
      { title: "When an item fails:", lines: policy },
    ],
    { paint, columns },
  )}${setup.length > 0 ? `\nSetup (${first}) would run first; if it creates the input, the items may differ.\n` : ""}${
    reduce.length > 0 ? `\nReduce (${last}) would run at the end.\n` : ""
  }`;
}

const AFTERWARDS: Readonly<Record<Policy["onItemFailure"], string>> = {
  dlq: "then it goes to the dead letter queue",
  retry: "immediately, then it goes to the dead letter queue",
  skip: "then it is skipped",
  stop: "then the job stops",
  custom: "then the handler decides",
};

function policyText(policy: Policy): string[] {
  const { maxAttempts, maxFailures, failureThreshold, breaker, outageMsMax = OUTAGE_MS_MAX } = policy;
  const tries = maxAttempts === 1 ? "once" : `${maxAttempts} times, ${backoffText(policy.backoff)}`;
  const died = maxFailures === 1 ? "an item has" : `${maxFailures} items have`;
  const pause = breaker && formatDuration(breaker.timeoutMs);
  return [
    `It is tried ${tries}, ${AFTERWARDS[policy.onItemFailure]}.`,
    !policy.continueOnFailure && "The job stops at the first item that dies.",
    maxFailures !== undefined && `The job stops when ${died} died.`,
    failureThreshold !== undefined &&
      `The job stops when more than ${failureThreshold * 100} % of the finished items have died.`,
    policy.onOutage === "wait" &&
      `An outage of the service pauses the job for at most ${formatDuration(outageMsMax)} and uses no attempts.`,
    breaker && `${breaker.failureThreshold} failures in a row pause the queue for ${pause}.`,
  ].filter((line) => typeof line === "string");
}

function backoffText(backoff: Backoff): string {
  switch (backoff.kind) {
    case "fixed":
      return `${formatDuration(backoff.delayMs)} apart`;
    case "list":
      return `after ${backoff.delaysMs.map(formatDuration).join(", ")}`;
    default:
      return `with ${backoff.kind} waits from ${formatDuration(backoff.initialMs)} up to ${formatDuration(backoff.maxMs)}`;
  }
}
