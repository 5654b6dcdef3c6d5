/**
 * Runs the steps of `verify` in a clean checkout of a commit, for items that are waiting to be merged and for
 * the branch itself.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { AttemptContext } from "../attempt/handler.ts";
import { readRange, sizeOf, writeLog } from "../attempt/output.ts";
import { isStoreTrouble, RedriveError } from "../errors.ts";
import type { EventType } from "../item/event.ts";
import { backoffMs } from "../retry/backoff.ts";
import { isOutageFailure } from "../retry/decide.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../std/files.ts";
import { type JsonObject, stringifyJson } from "../std/json.ts";
import type { Verify } from "../workflow/model.ts";
import { runSteps } from "../workflow/run-steps.ts";
import type { StepsEnd } from "../workflow/step-context.ts";
import type { Check, CheckEnd, MergeWait, VerifyQueue } from "../workspace/verify-queue.ts";
import { waitThroughOutages } from "./phase-outages.ts";
import { jobVariables, stepContextOf, type WorkflowRuntime } from "./workflow-runtime.ts";

/** After an item has ended, a batch waits this long for the next one to start. */
const LINGER_MS = 500;
/** The maximum number of item ids in the event of a run. */
const IDS_MAX = 100;

/** An item whose work is verified before it is merged. */
export interface VerifiedWork {
  /** Runs the merge. Another item may use the slot in the meantime. */
  waiting<T>(merge: (wait: MergeWait) => Promise<T>): Promise<T>;
  /** Must be called when the item has ended. */
  end(): void;
}

interface VerifyParts {
  readonly verifyWith: NonNullable<WorkflowRuntime["workspace"]["verifyWith"]>;
  readonly verified: string | undefined;
}

export class Verifier {
  readonly #runtime: WorkflowRuntime;
  readonly #verify: Verify;
  readonly #queue: VerifyQueue;
  #active = 0;
  /** Whether no item has been processed for a while. */
  #isIdle = false;
  #cancelIdle: (() => void) | undefined;
  #stopReason: string | undefined;

  /** `verified` is the tip of the branch if it has just passed the steps. Returns undefined without `verify`. */
  static open(runtime: WorkflowRuntime, verified?: string): Verifier | undefined {
    const { verify } = runtime.spec.workflow;
    const { verifyWith } = runtime.workspace;
    return verify && verifyWith && new Verifier(runtime, verify, { verifyWith, verified });
  }

  private constructor(runtime: WorkflowRuntime, verify: Verify, { verifyWith, verified }: VerifyParts) {
    const { onNotice } = runtime.jobRuntime;
    this.#runtime = runtime;
    this.#verify = verify;
    this.#queue = verifyWith({
      batch: verify.batch,
      verified,
      check: (check) => this.#check(check),
      othersRun: () => !this.#isIdle,
      onSearch: (items) =>
        onNotice?.(`verify failed with the work of ${items} items. Looking for the one that breaks it.`),
      onBrokenBase: (failure) => {
        this.#stopReason = `${BROKEN}: ${failure.errorMessage}`;
      },
      onFlaky: () =>
        onNotice?.("verify failed once and passed when it was repeated. The first failure does not count."),
    });
  }

  /** How many items may wait without a slot. Each occupies a worktree, and more waiting items mean more conflicts. */
  get waitingMax(): number {
    return Math.max(this.#verify.batch, 2 * this.#runtime.spec.workflow.map.maxParallel);
  }

  /** Why the job must not start more work, because no item could pass. */
  get stopReason(): string | undefined {
    return this.#stopReason;
  }

  /** Counts an item as being processed until it ends or waits. */
  begin(attempt: AttemptContext, onWait: () => void): VerifiedWork {
    const { clock } = this.#runtime.jobRuntime;
    const { signal, mayStart, withoutSlot } = attempt;
    this.#active += 1;
    this.#isIdle = false;
    this.#cancelIdle?.();
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      this.#active -= 1;
      if (this.#active > 0) return;
      this.#cancelIdle = clock.after(LINGER_MS, () => {
        this.#isIdle = true;
        this.#queue.startIfDue(); // an incomplete batch starts when no further item can join it
      });
    };
    return {
      end,
      waiting: (merge) => {
        onWait();
        end();
        const work = () => merge({ signal, mayStart });
        return withoutSlot === undefined ? work() : withoutSlot(work);
      },
    };
  }

  /**
   * Steps that cannot run are not a failure of an item. The job stops, because every other run would end in
   * the same way.
   */
  async #check(check: Check): Promise<CheckEnd> {
    const end = await runVerify(this.#runtime, check).catch((error: unknown): CheckEnd => {
      if (!(error instanceof RedriveError)) throw error;
      return { kind: "stopped", why: error.message }; // for example, no checkout could be created
    });
    const isOutage = end.kind === "failed" && isOutageFailure(end);
    const why = isOutage ? end.failure.errorMessage : end.kind === "stopped" ? end.why : undefined;
    if (why === undefined) return end;
    const isForced = check.signal.aborted || !check.mayStart(); // by the runner itself
    if (!isForced) this.#stopReason = `verify cannot run: ${why}`;
    return { kind: "stopped", why };
  }
}

const BROKEN = "verify fails on the job's branch without the work of any waiting item";

/**
 * Throws if `verify` does not pass before the first item has run, because then no item could pass. Returns
 * the commit.
 */
export async function verifyStart(runtime: WorkflowRuntime, stop: AbortSignal): Promise<string | "stopped"> {
  const { workspace, job } = runtime;
  const commit = (await workspace.head?.()) ?? "";
  const check = { commit, base: commit, itemIds: [], signal: stop, mayStart: () => true };
  const end = await runVerify(runtime, check);
  if (end.kind === "passed") return commit;
  if (end.kind === "stopped" && end.why === undefined) return "stopped";
  const why = end.kind === "failed" ? end.failure.errorMessage : end.why;
  const message = `verify fails before any item has run, so no item could be done: ${why}`;
  const hint = `Its output: redrive logs ${job.id} verify. Correct the project or the steps of verify, and start a new run. If only the environment was wrong: redrive resume ${job.id}`;
  throw new RedriveError("phase_failed", message, { hint });
}

/** Runs the steps once on a commit. Waits for limits and outages to end, because they do not depend on the commit. */
async function runVerify(runtime: WorkflowRuntime, check: Check): Promise<CheckEnd> {
  const { spec, workspace, jobRuntime } = runtime;
  const { verify, policy } = spec.workflow;
  const { clock } = jobRuntime;
  if (verify === undefined || workspace.checkoutAt === undefined) return { kind: "passed" };
  if (check.signal.aborted) return { kind: "stopped" };
  const startedAt = clock.monotonicNow();
  const log = jobRuntime.logs.phase("verify");
  const from = sizeOf(log);
  await writeLog(log, [], { titles: [titleOf(check)] });
  const checkout = await workspace.checkoutAt(check.commit);
  let end: StepsEnd;
  try {
    const context = stepContextOf(runtime, {
      ...{ checkout, logPath: log, signal: check.signal, mayStart: check.mayStart },
      ...{ agentId: "verify", attempt: 1 },
      variables: jobVariables(runtime),
      scratch: `${jobRuntime.scratch}/verify`,
      ownEnv: {
        REDRIVE_VERIFY_BASE: check.base,
        REDRIVE_VERIFY_ITEMS: idsText(check.itemIds),
      },
    });
    const wait = { policy, clock, stop: check.signal, onWait: undefined };
    const run = () => runSteps(verify.steps, context, { timeoutMs: verify.timeoutMs, what: "verify" });
    end = await waitThroughOutages(wait, run);
    for (
      let tries = 1;
      end.kind === "failed" && isOutageFailure(end) && tries < policy.maxAttempts;
      tries += 1
    ) {
      await clock.sleep(backoffMs(policy.backoff, tries, Math.random), check.signal);
      end = await waitThroughOutages(wait, run);
    }
  } finally {
    await checkout.release();
  }
  if (end.kind === "stopped") return { kind: "stopped", ...(end.why !== undefined && { why: end.why }) };
  const durationMs = Math.round(clock.monotonicNow() - startedAt);
  if (end.kind === "done") {
    await record(runtime, "verify_passed", eventOf(check, durationMs));
    return { kind: "passed" };
  }
  const { failure } = end;
  await record(runtime, "verify_failed", { ...eventOf(check, durationMs), message: failure.errorMessage });
  return { kind: "failed", failure, output: readRange(log, from, OUTPUT_BYTES_MAX) };
}

const ITEMS_CHARS_MAX = 64 * 1024;

/** Joins as many ids as fit into a variable. */
function idsText(ids: readonly string[]): string {
  const text = stringifyJson([...ids]);
  return text.length <= ITEMS_CHARS_MAX ? text : idsText(ids.slice(0, -1));
}

const OUTPUT_BYTES_MAX = 4 * 1024 * 1024;
const TITLE_IDS_MAX = 5;

function titleOf({ commit, itemIds }: Check): string {
  const names = itemIds.slice(0, TITLE_IDS_MAX).join(", ");
  const more = itemIds.length > TITLE_IDS_MAX ? ` and ${itemIds.length - TITLE_IDS_MAX} more` : "";
  const what = itemIds.length === 0 ? "the job's branch" : `${names}${more}`;
  return `verify ${commit.slice(0, 12)}: ${what.replaceAll("\n", " ")}`;
}

function eventOf({ commit, itemIds }: Check, durationMs: number): JsonObject {
  return { commit, items: itemIds.length, item_ids: itemIds.slice(0, IDS_MAX), duration_ms: durationMs };
}

async function record({ jobRuntime }: WorkflowRuntime, type: EventType, data: JsonObject): Promise<void> {
  await jobRuntime.recordEvent(type, data).catch((error: unknown) => {
    if (!isStoreTrouble(error)) throw error; // the runner itself waits until the store can be written
  });
}

/** Appends the output of the failed run to the log of the attempt, where users look for it. */
export function appendOutput(log: string, output: Buffer | undefined): void {
  if (output === undefined || output.length === 0) return;
  mkdirSync(dirname(log), { recursive: true, mode: PRIVATE_FOLDER });
  appendFileSync(log, output, { mode: PRIVATE_FILE });
}
