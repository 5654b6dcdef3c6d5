/** Builds settlements like those of a runner, one function for each outcome of an attempt. */
import type { Failure } from "../../src/item/failure.ts";
import type { DeathRecord, Lease, Settlement } from "../../src/item/item.ts";

/** A failure of the attempt of the lease. */
export function failureOf(lease: Lease, change: Partial<Failure> = {}): Failure {
  return {
    attemptNumber: lease.attempt,
    timestamp: Date.UTC(2026, 0, 1),
    errorType: { name: "CommandFailed", fields: { exit_code: 101 } },
    errorClass: "unknown",
    errorMessage: `attempt ${lease.attempt} failed with exit code 101`,
    agentId: "host-1-slot-1",
    stepFailed: "shell: cargo test",
    durationMs: 1200,
    exitCode: 101,
    stderrTail: "error: test failed",
    ...change,
  };
}

export function deathRecordOf(change: Partial<DeathRecord> = {}): DeathRecord {
  return {
    reason: "out of retries (1 of 1 attempts used)",
    errorType: "CommandFailed",
    errorClass: "unknown",
    signature: "00000000000000aa",
    pattern: "CommandFailed::attempt <num> failed with exit code <num>",
    algorithm: "redrive-1",
    reprocessEligible: true,
    manualReviewRequired: false,
    ...change,
  };
}

export function succeeded(lease: Lease): Settlement {
  return { lease: leaseOf(lease), outcome: "succeeded", verdict: { kind: "done" } };
}

export function retried(lease: Lease, delayMs = 0): Settlement {
  return failed(lease, { verdict: { kind: "retry", delayMs } });
}

export function parked(lease: Lease, delayMs: number): Settlement {
  return failed(lease, { verdict: { kind: "park", delayMs } });
}

export function released(lease: Lease): Settlement {
  return { lease: leaseOf(lease), outcome: "released", verdict: { kind: "release" } };
}

export function skipped(lease: Lease): Settlement {
  return failed(lease, { verdict: { kind: "skip", reason: "out of retries (1 of 1 attempts used)" } });
}

export function buried(lease: Lease, death: Partial<DeathRecord> = {}): Settlement {
  const header = deathRecordOf(death);
  return failed(lease, { verdict: { kind: "bury", reason: header.reason }, death: header });
}

/** The settlement of a reaper for a vanished holder while the item has losses left. */
export function lost(lease: Lease, delayMs = 0): Settlement {
  return failed(lease, { outcome: "lost", verdict: { kind: "retry", delayMs }, failure: lossOf(lease) });
}

/** The settlement of a reaper when the item has no losses left. */
export function buriedAsLost(lease: Lease): Settlement {
  const death = deathRecordOf({
    reason: "worker lost (3 of 3)",
    errorType: "WorkerLost",
    signature: "00000000000000bb",
  });
  const verdict = { kind: "bury", reason: death.reason } as const;
  return failed(lease, { outcome: "lost", verdict, death, failure: lossOf(lease) });
}

function failed(lease: Lease, change: Partial<Settlement> & Pick<Settlement, "verdict">): Settlement {
  return { lease: leaseOf(lease), outcome: "failed", failure: failureOf(lease), ...change };
}

function lossOf(lease: Lease): Failure {
  return failureOf(lease, { errorType: { name: "WorkerLost" }, errorMessage: "the worker vanished" });
}

function leaseOf({ ref, attempt }: Lease): Lease {
  return { ref, attempt };
}
