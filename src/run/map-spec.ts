/** The settings of a map job, stored with the job as JSON, so that any process can resume it. */
import type { InputFormat } from "../intake/input.ts";
import type { Job } from "../item/job.ts";
import type { Policy } from "../retry/policy.ts";
import type { JsonObject } from "../std/json.ts";

/** The command that runs once for each item, of a map or of a queue. */
export interface CommandSpec {
  /** The command and its arguments, with variables. */
  readonly command: readonly string[];
  /** Allow items that begin with "-" where the command could read them as options. Default: such an item fails. */
  readonly allowOptions?: boolean;
  readonly cwd: string;
  /** An attempt that takes longer is killed with all its processes. */
  readonly timeoutMs?: number;
  /** The time between the signals TERM and KILL. */
  readonly graceMs: number;
  /** Whether evidence files are copied into the home folder. Default: only their digests are recorded. */
  readonly keepEvidence?: boolean;
  /** The shell command of `onItemFailure: custom`. */
  readonly failureCommand?: string;
}

/** A map: its command, its input, and how it runs. */
export interface MapSpec extends CommandSpec {
  readonly input: MapInput;
  /** How many items run at a time. */
  readonly jobs: number;
  readonly policy: Policy;
}

/** The source and format of a map's items. */
export interface MapInput {
  /** Absolute path, or `-` for standard input. */
  readonly path: string;
  readonly format?: InputFormat;
  readonly idField?: string;
  readonly distinct?: boolean | string;
}

/** The default time between the signals TERM and KILL. */
export const DEFAULT_GRACE_MS = 5000;

export function specToJson(spec: MapSpec): JsonObject {
  return JSON.parse(JSON.stringify(spec)) as JsonObject;
}

export function specOf(job: Job): MapSpec {
  return job.spec as unknown as MapSpec;
}
