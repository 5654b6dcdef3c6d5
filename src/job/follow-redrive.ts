/**
 * A redrive of a queue whose work is done by workers: sends the letters as its plan says, and follows what becomes of them
 * until all have come to an end. It works nothing itself. Without a worker nobody waits: the letters are in line, and
 * whoever comes does them.
 */
import type { Job } from "../item/job.ts";
import type { Operation } from "../item/operation.ts";
import { systemClock } from "../kit/clock.ts";
import { planOf } from "../redrive/plan.ts";
import { sendLetters } from "../redrive/send.ts";
import { sendAhead } from "../redrive/send-ahead.ts";
import { watchPause } from "../redrive/watch-pause.ts";
import { Patience } from "../runner/patience.ts";
import type { RunDeps } from "./run-job.ts";
import { hasRunner } from "./summary.ts";

export interface Following {
  readonly job: Job;
  readonly operation: Operation;
  readonly onNotice?: (notice: string) => void;
}

/** Returns when all is done, when it is told to stop, or when no worker is there any more. */
export async function followRedrive(deps: RunDeps, following: Following): Promise<void> {
  const { engine, clock = systemClock, stop } = deps;
  const { operation, onNotice } = following;
  const over = new AbortController();
  const end = () => over.abort();
  stop.addEventListener("abort", end, { once: true });
  const patience = new Patience(deps.storeWaitMs ?? STORE_WAIT_MS, clock, {
    trouble: (error) => deps.observer?.trouble?.(error),
    recovered: () => deps.observer?.recovered?.(),
  });
  const watching = watchPause(operation, {
    engine,
    clock,
    signal: over.signal,
    ...(onNotice && { onNotice }),
  });
  try {
    if (stop.aborted) return;
    if (await patience.through(() => hasRunner(engine, operation.queue)))
      await follow(deps, following, { patience, over });
    else await leaveToWorkers(deps, following, patience);
  } finally {
    stop.removeEventListener("abort", end);
    over.abort();
    await watching;
  }
}

const STORE_WAIT_MS = 30_000;

/** How often it is asked how the letters stand. */
const LOOK_MS = 300;

/** A worker that is started anew is away for a moment. */
const AWAY_MS_MAX = 15_000;

interface Way {
  readonly patience: Patience;
  readonly over: AbortController;
}

async function follow(deps: RunDeps, following: Following, way: Way): Promise<void> {
  const { over, patience } = way;
  const sending = sendAll(deps, following, way);
  sending.catch(() => undefined); // it is heard below, when nothing waits for letters any more
  const end = await untilEnded(deps, following, way);
  over.abort();
  await sending;
  if (end !== "alone" || deps.stop.aborted) return;
  following.onNotice?.(`No worker is at ${following.job.id} any more.`);
  await leaveToWorkers(deps, following, patience);
}

/** `alone`: there are letters left, and no worker. */
async function untilEnded(
  deps: RunDeps,
  { job, operation, onNotice }: Following,
  { patience, over }: Way,
): Promise<"ended" | "alone" | "stopped"> {
  const { engine, clock = systemClock } = deps;
  let seenAt = clock.now();
  let wasPaused = false;
  while (!over.signal.aborted) {
    const { endedAt } = await patience.through(() => engine.closeOperation(operation.id));
    if (endedAt !== undefined) return "ended";
    if (await patience.through(() => hasRunner(engine, operation.queue))) seenAt = clock.now();
    else if (clock.now() - seenAt >= AWAY_MS_MAX) return "alone";
    const isPaused = (await patience.through(() => engine.findJob(job.id)))?.pause !== undefined;
    if (isPaused && !wasPaused) onNotice?.(pausedNotice(job));
    wasPaused = isPaused;
    await clock.sleep(LOOK_MS, over.signal);
  }
  return "stopped";
}

function pausedNotice({ id, kind }: Job): string {
  const words = kind === "target" ? "receipts" : "queue";
  return `${id} is paused: its workers get nothing. \`redrive ${words} resume ${id}\` goes on; Ctrl-C leaves the letters in line.`;
}

async function sendAll(
  deps: RunDeps,
  { operation, onNotice }: Following,
  { patience, over }: Way,
): Promise<void> {
  const { engine, clock = systemClock } = deps;
  const options = { engine, patience, clock, signal: over.signal, ...(onNotice && { onNotice }) };
  try {
    for await (const _ of sendLetters(operation, options)) if (over.signal.aborted) return;
  } catch (error) {
    over.abort(); // nobody has to wait for what cannot be sent
    throw error;
  }
}

/** A canary is judged by what its first letters become: the others wait until somebody goes on with it. */
async function leaveToWorkers(deps: RunDeps, following: Following, patience: Patience): Promise<void> {
  const { engine } = deps;
  const { job, operation, onNotice } = following;
  const now = (await patience.through(() => engine.findOperation(operation.id))) ?? operation;
  const start =
    job.kind === "target"
      ? "the service that has its function"
      : `redrive worker --queue ${job.id} -- COMMAND`;
  if (planOf(operation).canary) {
    onNotice?.(
      `No worker is at ${job.id}, and a canary is judged by what its first letters become. Nothing more is sent: start one (${start}), then go on: redrive ops resume ${operation.id}`,
    );
    return;
  }
  await sendAhead(now, engine, patience);
  onNotice?.(
    `No worker is at ${job.id}: the letters are in line, and the next one does them. Start one: ${start}`,
  );
}
