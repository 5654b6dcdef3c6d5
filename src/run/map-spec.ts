/** The settings of a map job, stored with the job as JSON, so that any process can resume it. */
import type { CommandSpec } from "../attempt/command.ts";
import type { InputSource } from "../intake/read-items.ts";
import type { Job } from "../item/job.ts";
import type { Policy } from "../retry/policy.ts";
import type { JsonObject } from "../std/json.ts";

/** The source and format of a map's items. */
export type MapInput = InputSource;

/** A map: its command, its input, and how it runs. */
export interface MapSpec extends CommandSpec {
  /** Its path is absolute, or `-` for standard input. */
  readonly input: MapInput;
  /** How many items run at a time. */
  readonly jobs: number;
  readonly policy: Policy;
}

/** The default time between the signals TERM and KILL. */
export const DEFAULT_GRACE_MS = 5000;

export function specToJson(spec: MapSpec): JsonObject {
  return JSON.parse(JSON.stringify(spec)) as JsonObject;
}

export function specOf(job: Job): MapSpec {
  return job.spec as unknown as MapSpec;
}

/** Whether a map's items are processed by a function of a program, so that only that program can run them. */
export function isFunctionMap({ kind, spec }: Pick<Job, "kind" | "spec">): boolean {
  return kind === "map" && spec.function === true;
}
