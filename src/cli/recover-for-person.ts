/** Sends the letters of a target again with what a person sees of it: progress, what comes back, and the books at the end. */
import { resolve } from "node:path";
import { leftOf, type Operation, operationToJson } from "../item/operation.ts";
import { mirroringReceipts } from "../job/receipts-mirror.ts";
import type { Recovery } from "../job/recover.ts";
import { continueRedrive, type RetryOptions, retryLetters } from "../job/retry.ts";
import type { RunDeps } from "../job/run-job.ts";
import { systemClock } from "../kit/clock.ts";
import type { RunObserver } from "../runner/runner.ts";
import { emptyBooks } from "./bulk.ts";
import type { Context } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { requirePath } from "./option.ts";
import { clean } from "./paint.ts";
import { sayRedriven } from "./redrive-for-person.ts";
import { type Watch, type WatchOptions, withProgress } from "./run-for-person.ts";

export interface RecoverPlan extends Pick<RetryOptions, "author" | "force" | "plan"> {
  readonly recovery: Recovery;
  /** The file in which the letters are kept as receipts. Default: none. */
  readonly mirror?: string;
}

/** First what another process began and did not finish, then all that are dead. */
export async function recoverForPerson(
  context: Context,
  options: WatchOptions,
  plan: RecoverPlan,
): Promise<number> {
  const { result, interrupt } = await withProgress(context, options, (deps, watch) =>
    recover(deps, watch, plan),
  );
  const code = say(context, plan.recovery, result);
  return interrupt.exitCode ?? code;
}

/** Where `--mirror` leads to; it counts from the current folder. */
export function mirrorPath({ terminal: { cwd } }: Context, path: string): string {
  return resolve(cwd, requirePath("--mirror", path));
}

async function recover(
  given: RunDeps,
  watch: Watch,
  { recovery, mirror, ...how }: RecoverPlan,
): Promise<readonly Operation[]> {
  const { job, selection, letters, begun } = recovery;
  const companions = mirror === undefined ? [] : [mirroringReceipts(mirror)];
  const deps = telling(
    { ...given, companions: [...(given.companions ?? []), ...companions] },
    watch.onNotice,
  );
  const ended: Operation[] = [];
  for (const operation of begun) {
    watch.onNotice(`Goes on with ${operation.id}, which was begun and not finished.`);
    ended.push(await continueRedrive(deps, operation, watch));
  }
  if (letters > 0 && !deps.stop.aborted)
    ended.push(await retryLetters(deps, { job, selection, ...how, ...watch }));
  if (ended.length > 0) return ended;
  const { engine, home } = deps; // nothing ran, and a file that was asked for is there all the same
  for (const open of companions)
    await open(job, { engine, home, clock: systemClock, onNotice: watch.onNotice }).stop();
  return ended;
}

const TOLD_MAX = 20;

/** What comes back is named, with why; of many, the first ones. */
function telling(deps: RunDeps, onNotice: (notice: string) => void): RunDeps {
  let told = 0;
  const settled: NonNullable<RunObserver["settled"]> = (item, settlement, outcome) => {
    deps.observer?.settled?.(item, settlement, outcome);
    if (settlement.grave === undefined || told >= TOLD_MAX) return;
    told += 1;
    const why = settlement.failure?.errorMessage ?? settlement.grave.reason;
    onNotice(clean(`${item.itemId} was not delivered, and stays a letter: ${why}`));
    if (told === TOLD_MAX) onNotice(`More of them are in \`redrive dlq list ${item.queue}\`.`);
  };
  return { ...deps, observer: { ...deps.observer, settled } };
}

/** What is left in line, after a pause, can be asked for again: 75. */
function say(context: Context, { job }: Recovery, ended: readonly Operation[]): number {
  const last = ended.at(-1);
  if (last === undefined) {
    context.answer(emptyBooks("redrive", job.id), () => `${job.id} has no letters.\n`);
    return EXIT.done;
  }
  const before = ended.slice(0, -1);
  const code = sayRedriven(context, { job, operation: last }, { resumed: before.map(operationToJson) });
  if (ended.some((operation) => leftOf(operation) > 0)) return EXIT.notNow;
  return before.some(({ failed, refused }) => failed + refused > 0) ? EXIT.lettersLeft : code;
}
