/** `redrive run --dry-run`: the items after filter, sort and limits, the first command, and what the policy would do. */
import type { Job } from "../item/job.ts";
import { type Backoff, OUTAGE_MS_MAX, type Policy } from "../retry/policy.ts";
import { withJobRuntime } from "../run/run-job.ts";
import { selectWorkflowItems } from "../run/workflow-items.ts";
import { jobVariables, openWorkflowRuntime } from "../run/workflow-runtime.ts";
import { systemClock } from "../std/clock.ts";
import { formatDuration } from "../std/duration.ts";
import { asText, type Json } from "../std/json.ts";
import type { Workflow } from "../workflow/model.ts";
import type { SelectionCounts } from "../workflow/select-items.ts";
import { stepLabel } from "../workflow/step-label.ts";
import { plain, type WorkflowSpec } from "../workflow/workflow-spec.ts";
import type { Context } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { fit } from "./render/paint.ts";

const SHOWN_MAX = 10;

/** Nothing is run but a `{command: …}` input, which says what the items are; nothing is written. */
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

interface Outlook {
  readonly items: readonly { readonly itemId: string; readonly data: Json }[];
  readonly counts: SelectionCounts;
  readonly steps: readonly string[];
}

/** Looks from the project's folder itself: a dry run makes no worktree. */
async function lookAhead(context: Context, spec: WorkflowSpec): Promise<Outlook> {
  const plainSpec = {
    ...spec,
    workflow: { ...spec.workflow, map: { ...spec.workflow.map, isolation: "none" as const } },
  };
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
  context: Context,
  { map, setup, reduce }: Workflow,
  outlook: Outlook & { policy: readonly string[] },
): string {
  const { paint, columns } = context;
  const { items, counts, steps, policy } = outlook;
  const left = Object.entries({
    "left out by the filter": counts.filtered,
    duplicates: counts.duplicates,
    "skipped by offset": counts.skipped,
    "beyond max_items": counts.beyond,
  }).filter(([, count]) => count > 0);
  const lines = [
    `${paint.bold(counted(counts.selected, "item"))} of ${counts.read} read${left.map(([what, count]) => `, ${count} ${what}`).join("")}.`,
    ...items
      .slice(0, SHOWN_MAX)
      .map((item) => `  ${fit(`${item.itemId}  ${asText(item.data)}`, columns - 2)}`),
    ...(items.length > SHOWN_MAX ? [`  … and ${items.length - SHOWN_MAX} more`] : []),
    "",
    paint.bold(
      `For each item (${map.maxParallel} at a time, ${map.isolation === "worktree" ? "each in a worktree" : "in this folder"}); the first:`,
    ),
    ...steps.map((step, index) => `  ${index + 1}. ${fit(step, columns - 5)}`),
    "",
    paint.bold("When an item fails:"),
    ...policy.map((line) => `  ${line}`),
    ...(setup.length > 0
      ? [
          "",
          `Setup (${counted(setup.length, "step")}) would run first; if it makes the input, the items are those of now.`,
        ]
      : []),
    ...(reduce.length > 0 ? ["", `Reduce (${counted(reduce.length, "step")}) would run at the end.`] : []),
  ];
  return `${lines.join("\n")}\n`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const AFTERWARDS: Readonly<Record<Policy["onItemFailure"], string>> = {
  dlq: "then it goes to the dead letter queue",
  retry: "at once, without waiting, then it goes to the dead letter queue",
  skip: "then it is skipped",
  stop: "then the job stops",
  custom: "then the handler decides",
};

function policyText(policy: Policy): string[] {
  const tries =
    policy.maxAttempts === 1
      ? "It is tried once"
      : `It is tried ${policy.maxAttempts} times, ${backoffText(policy.backoff)}`;
  return [
    `${tries}, ${AFTERWARDS[policy.onItemFailure]}.`,
    ...(policy.continueOnFailure ? [] : ["The job stops at the first item that dies."]),
    ...(policy.maxFailures === undefined
      ? []
      : [
          `The job stops when ${policy.maxFailures === 1 ? "an item has" : `${policy.maxFailures} items have`} died.`,
        ]),
    ...(policy.failureThreshold === undefined
      ? []
      : [`The job stops when more than ${policy.failureThreshold * 100} % of the finished items have died.`]),
    ...(policy.onOutage === "wait"
      ? [
          `An outage of the service pauses the job and spends no attempt, for at most ${formatDuration(policy.outageMsMax ?? OUTAGE_MS_MAX)}.`,
        ]
      : []),
    ...(policy.breaker
      ? [
          `${policy.breaker.failureThreshold} failures in a row pause the queue for ${formatDuration(policy.breaker.timeoutMs)}.`,
        ]
      : []),
  ];
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
