/** A workflow after parsing, with all defaults filled in. It is plain JSON: a job stores it, and any process can resume it. */
import type { Backoff, Policy } from "../retry/policy.ts";
import type { Json } from "../std/json.ts";

export interface Workflow {
  readonly name: string;
  /** Given to every step of every phase; `env_files` are read into it when the job starts. */
  readonly env: Readonly<Record<string, string>>;
  /** Names of environment variables whose values are masked wherever something is written or shown. */
  readonly secrets: readonly string[];
  readonly envFiles: readonly string[];
  readonly setup: readonly Step[];
  readonly map: MapPhase;
  readonly reduce: readonly Step[];
  readonly merge: readonly Step[];
  readonly phaseTimeoutMs: { readonly setup?: number; readonly reduce?: number; readonly merge?: number };
  readonly policy: Policy;
  /** `on_item_failure: custom`: gets the failure, answers by its exit: success handled, 75 retry, else dlq. */
  readonly onItemFailureSteps: readonly Step[];
}

export const KEEP_WORKTREES = ["never", "failed", "always"] as const;
/** Which worktrees stay for a person: none, those of letters, or that of every item. */
export type KeepWorktrees = (typeof KEEP_WORKTREES)[number];

export interface MapPhase {
  readonly input: { readonly file: string } | { readonly command: string };
  readonly jsonPath?: string;
  readonly idField?: string;
  readonly filter?: string;
  readonly sortBy: readonly SortKey[];
  /** A path into the item; true is its whole content. */
  readonly distinct?: string | true;
  readonly offset: number;
  readonly maxItems?: number;
  readonly maxParallel: number;
  readonly agentTimeoutMs?: number;
  readonly isolation: "worktree" | "none";
  /** Paths in the worktree that one item leaves for the next, such as node_modules. */
  readonly keep: readonly string[];
  readonly keepWorktrees?: KeepWorktrees;
  readonly steps: readonly Step[];
}

export interface SortKey {
  readonly path: string;
  readonly descending: boolean;
  readonly nulls: "first" | "last";
}

export const CAPTURE_FORMATS = ["string", "json", "lines", "number", "boolean"] as const;
export type CaptureFormat = (typeof CAPTURE_FORMATS)[number];

/** Every option means the same in setup, map, reduce and merge. */
export interface Step {
  readonly action: Action;
  readonly id?: string;
  readonly timeoutMs?: number;
  readonly env: Readonly<Record<string, string>>;
  /** Relative to the place where the phase runs; it cannot leave it. */
  readonly workingDir?: string;
  readonly when?: string;
  readonly capture?: { readonly name: string; readonly format: CaptureFormat };
  /** Runs when the step failed; then the step is tried again `maxAttempts` times. */
  readonly onFailure?: FailureHandler;
  readonly onSuccess: readonly Step[];
  /** Steps for single exit codes; a code that is listed is not a failure by itself, its steps decide. */
  readonly onExitCode: Readonly<Record<string, readonly Step[]>>;
  readonly retry?: { readonly maxAttempts: number; readonly backoff: Backoff };
  readonly commitRequired: boolean;
  readonly validate?: Validation;
  /** Where standard output is copied, relative to the working directory. */
  readonly outputFile?: string;
}

export const PROMPT_WAYS = ["stdin", "argument"] as const;
export type PromptBy = (typeof PROMPT_WAYS)[number];

export type Action =
  | { readonly kind: "shell"; readonly script: string }
  | {
      readonly kind: "agent";
      readonly command: readonly string[];
      readonly prompt: string;
      /** How the agent gets its prompt. `argument`: as the last one, after `--`. Default `stdin`. */
      readonly promptBy?: PromptBy;
      /** `claude`: stream-json on stdout, kept as the JSON log. */
      readonly protocol: "claude" | "plain";
    }
  | { readonly kind: "write_file"; readonly path: string; readonly content: string; readonly mode?: number }
  | {
      readonly kind: "foreach";
      /** A list, or a template whose value is one (JSON array, or lines). */
      readonly items: readonly Json[] | string;
      readonly steps: readonly Step[];
      readonly parallel: number;
      readonly maxItems?: number;
    };

export interface FailureHandler {
  readonly steps: readonly Step[];
  /** How often the failed step is run again after its handler. Default 1; 0 runs only the handler. */
  readonly maxAttempts: number;
  /** False: a step that stays failed does not fail the attempt. Default true. */
  readonly failWorkflow: boolean;
}

export interface Validation {
  /** Answers by exit code, or with JSON `{"score": 0-100 (or completion_percentage), "missing": […]}` on stdout. */
  readonly step: Step;
  readonly threshold: number;
  readonly onIncomplete?: FailureHandler;
}
