/** Lets the steps of setup, reduce and merge wait through outages, by the rules that `decide` has for items. */
import type { Failure } from "../item/failure.ts";
import { decide, isKnownReset, isOutageFailure } from "../retry/decide.ts";
import type { Policy } from "../retry/policy.ts";
import { OutageClock } from "../runner/dispatch-gate.ts";
import type { Clock } from "../std/clock.ts";
import type { StepsEnd } from "../workflow/step-context.ts";

/** Called when the steps of a phase begin to wait. */
export type OnPhaseWait = (failure: Failure, delayMs: number) => void;

export interface OutageWait {
  readonly policy: Policy;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  readonly onWait?: OnPhaseWait | undefined;
}

/** Runs the steps again after each wait, until they end in another way or the outage has lasted too long. */
export async function waitThroughOutages(
  { policy, clock, stop, onWait }: OutageWait,
  run: () => Promise<StepsEnd>,
): Promise<StepsEnd> {
  const outage = new OutageClock();
  let stepIndex = -1;
  for (;;) {
    const end = await run();
    if (end.kind !== "failed" || !isOutageFailure(end)) return end;
    if (end.stepIndex !== stepIndex) outage.recordSuccess(); // an earlier step got through
    stepIndex = end.stepIndex;
    const failedAt = clock.monotonicNow();
    outage.recordFailure(failedAt);
    const context = { random: Math.random, outage: outage.soFar(failedAt) };
    const verdict = decide({ spent: 0, losses: 0 }, end, policy, context);
    if (verdict.kind !== "park") return end;
    outage.recordParking(failedAt, failedAt + verdict.delayMs, isKnownReset(end));
    onWait?.(end.failure, verdict.delayMs);
    await clock.sleep(verdict.delayMs, stop);
    if (stop.aborted) return { kind: "stopped" };
  }
}
