/** A workflow after parsing, with all defaults filled in. It is plain JSON: a job stores it, and any process can resume it. */
import type { Budget } from "../agent/budget.ts";
import type { Backoff, Policy } from "../retry/policy.ts";
import type { Json } from "../std/json.ts";

export interface Workflow {
  readonly name: string;
  /** Environment of every step of every phase. `env_files` are added when the job starts. */
  readonly env: Readonly<Record<string, string>>;
  /** Names of environment variables whose values are masked in everything that is stored or printed. */
  readonly secrets: readonly string[];
  /** Files with the values of secrets, by name. */
  readonly secretFiles?: Readonly<Record<string, string>>;
  readonly envFiles: readonly (string | { readonly path: string; readonly isOptional: true })[];
  readonly setup: readonly Step[];
  readonly map: MapPhase;
  readonly reduce: readonly Step[];
  readonly merge: readonly Step[];
  /** How the work of items is merged. Default: `commit-per-item`. */
  readonly itemMerge?: ItemMerge;
  /** Checks the combined work of items before they count as done. Default: a merged item is done. */
  readonly verify?: Verify;
  readonly phaseTimeoutMs: { readonly setup?: number; readonly reduce?: number; readonly merge?: number };
  /** How much the agents of the job, and of each attempt, may use. Default: no limit. */
  readonly budget?: Budget;
  readonly policy: Policy;
  /** Steps of `on_item_failure: custom`. Success means handled, exit code 75 means retry, any other failure buries the item. */
  readonly onItemFailureSteps: readonly Step[];
}

export const MERGE_STRATEGIES = ["commit-per-item", "squash", "branch-per-item"] as const;
/**
 * How the work of an item is merged: as a merge commit with the agent's own commits, as one squashed commit,
 * or on a separate branch.
 */
export type MergeStrategy = (typeof MERGE_STRATEGIES)[number];

export interface ItemMerge {
  readonly strategy: MergeStrategy;
  /** The template of the commit message. Default `redrive: ` and the item's name. */
  readonly message?: string;
  /** Steps that resolve a conflict in the item's worktree. Default: the attempt fails. */
  readonly onConflict?: readonly Step[];
}

export interface Verify {
  readonly steps: readonly Step[];
  /** How many items must be waiting before the steps run, while other items are still being processed. */
  readonly batch: number;
  /** The time limit for one run of the steps. */
  readonly timeoutMs: number;
}

export const KEEP_WORKTREES = ["never", "failed", "always"] as const;
/** Which worktrees are kept for inspection: none, those of dead letters, or all. */
export type KeepWorktrees = (typeof KEEP_WORKTREES)[number];

export interface MapPhase {
  readonly input:
    | { readonly file: string }
    | { readonly command: string }
    | { readonly items: readonly FixedItem[] };
  /**
   * If true, the items run one after another in the job's own worktree, and a resumed item continues at the
   * interrupted step.
   */
  readonly isSequential?: true;
  /** How often the steps of a sequential workflow run, unless the command line sets a number. */
  readonly iterations?: number;
  /** Where the first item begins, if its first steps were completed elsewhere. */
  readonly startAt?: { readonly step: number; readonly variables: Readonly<Record<string, Json>> };
  /** If true, each item is an argument, which steps can also read as `$ARG`. */
  readonly hasArguments?: true;
  readonly jsonPath?: string;
  readonly idField?: string;
  readonly filter?: string;
  readonly sortBy: readonly SortKey[];
  /** Path of the field to compare; true compares the whole item. */
  readonly distinct?: string | true;
  readonly offset: number;
  readonly maxItems?: number;
  readonly maxParallel: number;
  readonly agentTimeoutMs?: number;
  readonly isolation: "worktree" | "none";
  /** The git remote with the job's branch, so that workers in other clones can take part. */
  readonly remote?: string;
  /** Paths in a worktree that are preserved between items, such as node_modules. */
  readonly keep: readonly string[];
  readonly keepWorktrees?: KeepWorktrees;
  readonly steps: readonly Step[];
}

/** An item of a sequential workflow: an iteration, or an argument. */
export interface FixedItem {
  readonly id: string;
  readonly data: Json;
}

/** The items of a sequential workflow without arguments. */
export function iterationItems(count: number): readonly FixedItem[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `iteration-${index + 1}`,
    data: { iteration: index + 1 },
  }));
}

export interface SortKey {
  readonly path: string;
  readonly descending: boolean;
  readonly nulls: "first" | "last";
}

export const CAPTURE_FORMATS = ["string", "json", "lines", "number", "boolean", "success"] as const;
export type CaptureFormat = (typeof CAPTURE_FORMATS)[number];

/** One step. Its options have the same meaning in setup, map, reduce and merge. */
export interface Step {
  readonly action: Action;
  readonly id?: string;
  /** Shown to people instead of the command. */
  readonly name?: string;
  readonly timeoutMs?: number;
  /** If true, a retry continues the session of the agent, with the failure as the next message. */
  readonly continueSession?: true;
  /** How long an agent may print nothing. Default: 30 minutes for an agent with a known stream. */
  readonly silenceMs?: number;
  readonly env: Readonly<Record<string, string>>;
  /** Relative to the root folder of the phase, and always inside it. */
  readonly workingDir?: string;
  readonly when?: string;
  readonly capture?: { readonly name: string; readonly format: CaptureFormat };
  /** Runs when the step has failed; then the step is retried up to `maxAttempts` times. */
  readonly onFailure?: FailureHandler;
  readonly onSuccess: readonly Step[];
  /** Steps by exit code. A listed exit code does not fail the step; the result of its steps decides. */
  readonly onExitCode: Readonly<Record<string, readonly Step[]>>;
  readonly retry?: {
    readonly maxAttempts: number;
    readonly backoff: Backoff;
    /** Regular expressions. Only failures whose message or type matches one are retried. */
    readonly on?: readonly string[];
    /** No retry begins after this time. */
    readonly budgetMs?: number;
  };
  readonly commitRequired: boolean;
  readonly validate?: Validation;
  /** File that receives a copy of standard output, relative to the working directory. */
  readonly outputFile?: string;
}

export const PROMPT_WAYS = ["stdin", "argument"] as const;

export type Action =
  | { readonly kind: "shell"; readonly script: string }
  | {
      readonly kind: "agent";
      readonly command: readonly string[];
      /** The command that continues the session `${agent.session}`. Known agents have a default. */
      readonly resume?: readonly string[];
      readonly prompt: string;
      /** How the prompt is passed. `argument` appends it as the last argument, after `--`. Default `stdin`. */
      readonly promptBy?: (typeof PROMPT_WAYS)[number];
      /** `claude` prints stream-json, which is kept as the JSON log. */
      readonly protocol: "claude" | "plain";
    }
  | {
      readonly kind: "write_file";
      readonly path: string;
      readonly content: string;
      readonly mode?: number;
      readonly format?: "json" | "yaml";
    }
  | {
      readonly kind: "foreach";
      /** A list, or a template that expands to a JSON array or to lines. */
      readonly items: readonly Json[] | string | { readonly command: string };
      /** If true, `${item}`, `${index}` and `${total}` are those of the element even inside a map. */
      readonly ownItem?: true;
      /** If true, a failed element neither stops the others nor fails the step. */
      readonly continueOnError?: true;
      readonly steps: readonly Step[];
      readonly parallel: number;
      readonly maxItems?: number;
    };

export interface FailureHandler {
  readonly steps: readonly Step[];
  /** How often the failed step is retried after the handler. Default 1; 0 runs only the handler. */
  readonly maxAttempts: number;
  /** If false, a step that still fails does not fail the attempt. Default true. */
  readonly failWorkflow: boolean;
  /** If true, a failed step of the handler fails the attempt even if `failWorkflow` is false. */
  readonly isFailureFatal?: true;
  /** Time limit for all steps of the handler together, in each round. */
  readonly timeoutMs?: number;
}

export interface Validation {
  /** Its result is the exit code or printed JSON: `{"score": 0-100 (or completion_percentage), "missing": […]}`. */
  readonly step: Step;
  /** Steps that run before `step`. If one fails, the score is 0. */
  readonly earlier?: readonly Step[];
  /** Time limit for all steps, if there are several. */
  readonly timeoutMs?: number;
  /** A JSON file with the result, instead of the output of the step. */
  readonly resultFile?: string;
  /** If true, the validated step and `onIncomplete` write the file themselves. */
  readonly isSelfRated?: true;
  readonly threshold: number;
  readonly onIncomplete?: FailureHandler;
}
