/** Variables of steps. Each `foreach` round collects its captures separately, so that parallel rounds do not mix. */
import type { Filled } from "../attempt/template.ts";
import type { Failure } from "../item/failure.ts";
import type { KnownVariables } from "../std/expression.ts";
import { isJsonObject, type Json, parseJson } from "../std/json.ts";
import { CHANGE_FIELDS } from "./git-variables.ts";
import type { CaptureFormat } from "./model.ts";

export class Scope {
  readonly #outer: Scope | undefined;
  readonly #own: Record<string, Json>;
  readonly #locals: Readonly<Record<string, Json>>;

  /** `set` writes into `own`, so that the caller sees captured values. */
  constructor(own: Record<string, Json>, locals: Readonly<Record<string, Json>> = {}, outer?: Scope) {
    this.#own = own;
    this.#locals = locals;
    this.#outer = outer;
  }

  fork(locals: Readonly<Record<string, Json>>): Scope {
    return new Scope({}, locals, this);
  }

  with(locals: Readonly<Record<string, Json>>): Scope {
    return new Scope(this.#own, { ...this.#locals, ...locals }, this.#outer);
  }

  merge(fork: Scope): void {
    Object.assign(this.#own, fork.#own);
  }

  set(name: string, value: Json): void {
    this.#own[name] = value;
  }

  /** Sets `a.b` inside the value of `a`. */
  setPath(path: string, value: Json): void {
    const [name = "", ...fields] = path.split(".");
    this.set(name, withField(this.all()[name], fields, value));
  }

  all(): Record<string, Json> {
    return { ...this.#outer?.all(), ...this.#own, ...this.#locals };
  }
}

function withField(outer: Json | undefined, [field, ...rest]: readonly string[], value: Json): Json {
  if (field === undefined) return value;
  const fields = isJsonObject(outer) ? outer : {};
  return { ...fields, [field]: withField(fields[field], rest, value) };
}

/** Larger outputs cannot be captured, because values are held in memory. */
export const VALUE_BYTES_MAX = 8 * 1024 * 1024;
const MIB = 1024 * 1024;

/**
 * `success` is a boolean in the last line, or else whether the step succeeded. For a failed step it is always
 * false.
 */
export function captureValue(text: string, format: CaptureFormat, isDone = true): Filled<Json> {
  const trimmed = text.trim();
  if (format === "string") return { ok: true, value: withoutLineEnd(text) };
  if (format === "lines") return { ok: true, value: linesOf(text) };
  if (format === "json") return jsonOf(trimmed);
  if (format === "success" || (format === "boolean" && !isDone))
    return { ok: true, value: isDone && !FALSE.test(lastLine(trimmed)) };
  if (format === "boolean") return booleanOf(trimmed);
  return NUMBER.test(trimmed) ? { ok: true, value: Number(trimmed) } : isNot("a number", trimmed);
}

const NUMBER = /^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/;

/** Removes trailing line ends, as `$(…)` does in a shell. */
export function withoutLineEnd(text: string): string {
  return text.replace(/(\r?\n)+$/, "");
}

export function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}

function jsonOf(text: string): Filled<Json> {
  try {
    return { ok: true, value: parseJson(text) as Json };
  } catch (error) {
    const reason = error instanceof Error ? error.message : "it cannot be read";
    return { ok: false, message: `is not valid JSON (${reason})` };
  }
}

const FALSE = /^(?:false|no|0)$/i;

function lastLine(text: string): string {
  return text.slice(text.lastIndexOf("\n") + 1).trim();
}

function booleanOf(text: string): Filled<Json> {
  const value = /^(?:true|yes|1)$/i.test(text);
  return value || FALSE.test(text)
    ? { ok: true, value }
    : isNot("a boolean (true, false, yes, no, 1 or 0)", text);
}

function isNot(what: string, text: string): Filled<never> {
  return {
    ok: false,
    message: text === "" ? `is empty and not ${what}` : `is not ${what}: ${text.slice(0, 80)}`,
  };
}

export function tooLarge(bytes: number): string {
  return `is ${Math.ceil(bytes / MIB)} MiB; the limit is ${VALUE_BYTES_MAX / MIB} MiB`;
}

export function errorVariable(failure: Failure): Record<(typeof ERROR_FIELDS)[number], Json> {
  return {
    type: failure.errorType.name,
    message: failure.errorMessage,
    step: failure.stepFailed,
    exit_code: failure.exitCode ?? null,
    stderr: failure.stderrTail ?? "",
    stdout: failure.stdoutTail ?? "",
  };
}

/** Fields of `${map.…}` in reduce and merge. */
export const MAP_FIELDS = [
  ...["total", "successful", "failed", "skipped", "success_rate", "failure_rate", "results", "results_file"],
  ...["total_duration_secs", "average_duration_secs"],
] as const;
/** Fields of `${shell.…}`, `${claude.…}`, `${last.…}` and of each of `${steps.…}`. */
export const RESULT_FIELDS = ["output", "exit_code", "success", "stderr", "duration"] as const;
export const WORKFLOW_FIELDS = ["name", "id", "iteration", "duration"] as const;
/** Fields of `${merge.…}` in the merge phase. */
export const MERGE_FIELDS = ["source_branch", "target_branch", "worktree", "session_id"] as const;
/** Fields of `${error.…}` in a failure handler. */
export const ERROR_FIELDS = ["type", "message", "step", "exit_code", "stderr", "stdout"] as const;
/** Fields of `${validation.…}` in `on_incomplete`. */
export const VALIDATION_FIELDS = [
  ...["score", "missing", "gaps", "status", "implemented", "output", "attempt_number"],
] as const;
/** Fields of `${foreach.…}` in each round. */
export const FOREACH_FIELDS = ["item", "index", "total"] as const;

export const RESERVED_NAMES: ReadonlySet<string> = new Set(
  "item item_id index map setup env job_id error validation foreach shell claude last step steps vars workflow merge".split(
    " ",
  ),
);

/** The variables of a phase with their fields. Steps add their captures. */
export type Known = Map<string, readonly string[] | "any">;

/** Variables in setup: the environment, the job id and those that `--var` sets. */
export function inSetup(given: readonly string[]): Known {
  return new Map<string, readonly string[] | "any">([
    ["env", "any"],
    ["job_id", "any"],
    ["workflow", [...WORKFLOW_FIELDS, ...CHANGE_FIELDS]],
    ["step", ["name", "index", ...CHANGE_FIELDS]],
    ...["shell", "claude", "last"].map((name) => [name, RESULT_FIELDS] as const),
    ["steps", "any"],
    ...given.map((name) => [name, "any"] as const),
  ]);
}

/** Adds the captures of setup as `${setup.x}`. They stay available under their own names. */
export function afterSetup(setup: KnownVariables, given: readonly string[]): Known {
  const captured = [...setup.keys()].filter((name) => !RESERVED_NAMES.has(name) && !given.includes(name));
  return new Map(setup).set("setup", captured);
}

export function withItem(known: KnownVariables): Known {
  return new Map(known).set("item", "any").set("item_id", "any").set("index", "any");
}

/** Variables in a `foreach` round. If `item` already exists, the element is only `${foreach.item}`. */
export function inRound(known: KnownVariables, ownItem: boolean): Known {
  const inner: Known = new Map(known).set("foreach", FOREACH_FIELDS);
  if (ownItem) inner.set("item", "any").set("index", "any").set("total", "any");
  return inner.has("item") ? inner : inner.set("item", "any");
}

export function withResults(known: KnownVariables): Known {
  return new Map(known).set("map", MAP_FIELDS);
}

export function withMerge(known: KnownVariables): Known {
  return new Map(known).set("merge", MERGE_FIELDS);
}

/** Makes captures of nested steps known to later steps. */
export function takeOver(known: Known, inner: KnownVariables): void {
  for (const [name, fields] of inner) if (!RESERVED_NAMES.has(name)) known.set(name, fields);
}
