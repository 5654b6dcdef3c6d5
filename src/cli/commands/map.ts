/** `redrive map`: a command over many items, in parallel. */
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { refuseEmptiedArgument } from "../../attempt/template.ts";
import { WorkError } from "../../errors.ts";
import type { InputFormat } from "../../intake/format.ts";
import { startMap } from "../../job/map.ts";
import { DEFAULT_GRACE_MS, type MapSpec } from "../../job/map-spec.ts";
import { parseDuration } from "../../kit/duration.ts";
import { parseBackoff } from "../../retry/backoff.ts";
import {
  DEFAULT_BREAKER,
  DEFAULT_POLICY,
  type OnItemFailure,
  type OnOutage,
  type Policy,
} from "../../retry/policy.ts";
import type { Context } from "../context.ts";
import { countOption, rateOption } from "../option.ts";
import { runForPerson, type WatchOptions } from "../run-for-person.ts";

interface MapFlags extends WatchOptions {
  readonly input: string;
  readonly format?: InputFormat;
  readonly idField?: string;
  readonly distinct?: boolean | string;
  readonly jobs?: string;
  readonly retries?: string;
  readonly backoff?: string;
  readonly timeout?: string;
  readonly grace?: string;
  readonly onFailure: OnItemFailure;
  readonly onFailureCommand?: string;
  readonly allowOptions?: boolean;
  readonly maxFailures?: string;
  readonly failureThreshold?: string;
  readonly failFast?: boolean;
  readonly breaker?: string;
  readonly breakerTimeout?: string;
  readonly onOutage?: OnOutage;
  readonly maxOutage?: string;
  readonly keepEvidence?: boolean;
  readonly name?: string;
  readonly acceptChanges?: boolean;
}

export async function map(context: Context, command: string[], flags: MapFlags): Promise<number> {
  refuseEmptiedArgument(command);
  const spec = specFrom(context, command, flags);
  requireInput(context, flags);
  return runForPerson(context, { ...flags, creates: true }, (deps, watch) =>
    startMap(deps, {
      spec,
      stdin: context.terminal.stdin,
      onJob: watch.onJob,
      onNotice: watch.onNotice,
      ...(flags.name !== undefined && { name: flags.name }),
      ...(flags.acceptChanges && { acceptChanges: true }),
    }),
  );
}

/** A newcomer who types `redrive map -- ls` at a terminal would wait for ever. */
function requireInput({ terminal }: Context, { input }: MapFlags): void {
  if (input !== "-" || !(terminal.stdin as { isTTY?: boolean }).isTTY) return;
  throw new WorkError("usage", "There is no input: nothing is piped in and no --input is given.", {
    hint: "find . -name '*.md' | redrive map -- wc -w {}   or   redrive map --input FILE -- COMMAND",
  });
}

function specFrom({ terminal }: Context, command: readonly string[], flags: MapFlags): MapSpec {
  const { input, format, idField, distinct } = flags;
  return {
    command,
    cwd: terminal.cwd,
    input: {
      path: input === "-" ? "-" : resolve(terminal.cwd, input),
      ...(format && { format }),
      ...(idField !== undefined && { idField }),
      ...(distinct !== undefined && { distinct }),
    },
    jobs: countOption("--jobs", flags.jobs, 1) ?? availableParallelism(),
    graceMs: flags.grace === undefined ? DEFAULT_GRACE_MS : parseDuration(flags.grace, "--grace"),
    policy: policyFrom(flags),
    ...(flags.onFailureCommand !== undefined && { failureCommand: flags.onFailureCommand }),
    ...(flags.allowOptions && { allowOptions: true }),
    ...(flags.keepEvidence && { keepEvidence: true }),
    ...(flags.timeout !== undefined && { timeoutMs: parseDuration(flags.timeout, "--timeout") }),
  };
}

function policyFrom(flags: MapFlags): Policy {
  const retries = countOption("--retries", flags.retries, 0);
  const maxFailures = countOption("--max-failures", flags.maxFailures, 1);
  const failureThreshold = rateOption("--failure-threshold", flags.failureThreshold);
  const breaker = countOption("--breaker", flags.breaker, 1);
  if (breaker === undefined && flags.breakerTimeout !== undefined) {
    throw new WorkError("usage", "--breaker-timeout needs --breaker, the number of failures that opens it.");
  }
  return {
    ...DEFAULT_POLICY,
    ...(retries !== undefined && { maxAttempts: retries + 1 }),
    ...(flags.backoff !== undefined && { backoff: parseBackoff(flags.backoff) }),
    onItemFailure: onItemFailureFrom(flags),
    continueOnFailure: !flags.failFast,
    ...(maxFailures !== undefined && { maxFailures }),
    ...(failureThreshold !== undefined && { failureThreshold }),
    ...(breaker !== undefined && { breaker: breakerFrom(breaker, flags) }),
    ...outageFrom(flags),
  };
}

function outageFrom({ onOutage, maxOutage }: MapFlags): Pick<Policy, "onOutage" | "outageMsMax"> {
  if (maxOutage !== undefined && onOutage !== "wait")
    throw new WorkError("usage", "--max-outage needs --on-outage wait.");
  return {
    ...(onOutage !== undefined && { onOutage }),
    ...(maxOutage !== undefined && { outageMsMax: parseDuration(maxOutage, "--max-outage") }),
  };
}

function onItemFailureFrom({ onFailure, onFailureCommand }: MapFlags): OnItemFailure {
  if (onFailureCommand === undefined) return onFailure;
  if (onFailure === "dlq") return "custom";
  throw new WorkError("usage", `--on-failure-command and --on-failure ${onFailure} exclude each other.`, {
    hint: "Leave --on-failure out: the command decides.",
  });
}

function breakerFrom(failureThreshold: number, { breakerTimeout }: MapFlags) {
  const timeoutMs =
    breakerTimeout === undefined ? {} : { timeoutMs: parseDuration(breakerTimeout, "--breaker-timeout") };
  return { ...DEFAULT_BREAKER, failureThreshold, ...timeoutMs };
}
