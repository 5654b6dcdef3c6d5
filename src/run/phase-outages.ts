/** Waits for limits and outages to end that fail the steps of a phase, because a phase has no item to park. */
import type { Failure } from "../item/failure.ts";
import { decide, isKnownReset, isOutageFailure } from "../retry/decide.ts";
import type { Policy } from "../retry/policy.ts";
import { OutageClock } from "../runner/dispatch-gate.ts";
import type { Clock } from "../std/clock.ts";
import type { StepsEnd } from "../workflow/step-context.ts";

export type OnPhaseWait = (failure: Failure, delayMs: number) => void;

interface PhaseOutageOptions {
  readonly policy: Policy;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  /** Called when a wait begins. */
  readonly onWait: OnPhaseWait | undefined;
}

/** Repeats the steps after each wait until they end for another reason or the outage has lasted too long. */
export async function waitThroughOutages(
  { policy, clock, stop, onWait }: PhaseOutageOptions,
  run: () => Promise<StepsEnd>,
): Promise<StepsEnd> {
  const outage = new OutageClock();
  let stepIndex = -1;
  for (;;) {
    const end = await run();
    if (end.kind !== "failed" || !isOutageFailure(end)) return end;
    if (end.stepIndex !== stepIndex) outage.recordSuccess(); // an earlier step succeeded
    stepIndex = end.stepIndex;
    const failedAt = clock.monotonicNow();
    outage.recordFailure(failedAt);
    const context = { random: Math.random, outage: outage.soFar(failedAt) };
    const verdict = decide({ attemptsCounted: 0, lostCount: 0 }, end, policy, context);
    if (verdict.kind !== "park") return end;
    outage.recordParking(failedAt, failedAt + verdict.delayMs, isKnownReset(end));
    onWait?.(end.failure, verdict.delayMs);
    await clock.sleep(verdict.delayMs, stop);
    if (stop.aborted) return { kind: "stopped" };
  }
}
