/** Checks rules that the schema cannot express. Skips parts that violate the schema, so that the others are still checked. */
import { templateParts } from "../attempt/template.ts";
import {
  compileExpression,
  FILTER_VARIABLES,
  isExpressionName,
  type KnownVariables,
} from "../std/expression.ts";
import { isJsonObject } from "../std/json.ts";
import type { Finding } from "../yaml/read-yaml.ts";
import {
  child,
  elements,
  type Field,
  keysOf,
  type Mapping,
  patternProblem,
  placeholderProblem,
  sessionProblems,
} from "./check-fields.ts";
import { jsonPathProblem } from "./json-path.ts";
import { splitWords } from "./program.ts";
import { parseSortKeys } from "./select-items.ts";
import { shellProblems } from "./shell-values.ts";
import {
  ACTION_KEYS,
  CAPTURE_PATTERN,
  NAME_PATTERN,
  retryForm,
  retryProblems,
  STEP_KEYS,
  twice,
} from "./step-form.ts";
import {
  afterSetup,
  ERROR_FIELDS,
  inRound,
  inSetup,
  type Known,
  RESERVED_NAMES,
  takeOver,
  VALIDATION_FIELDS,
  withItem,
  withMerge,
  withResults,
} from "./step-variables.ts";
import { type ExpandMode, unreadable, usageProblem } from "./variables.ts";

/** The keys of `merge` that concern the work of single items. */
const ITEM_MERGE_KEYS = ["strategy", "message", "on_conflict"];

/** Returns all violations of these rules. `given` lists the names of variables from the command line. */
export function checkWorkflow(raw: unknown, given: readonly string[]): readonly Finding[] {
  if (!isJsonObject(raw)) return [];
  const secrets = Array.isArray(raw.secrets) ? raw.secrets : [];
  const checker = new Checker(secrets.map((entry) => String(isJsonObject(entry) ? entry.name : entry)));
  const at = (key: string) => child({ value: raw, path: [] }, key);
  const setup = inSetup(given);
  checker.environment(at("env"), setup);
  checker.retry(at("retry"));
  checker.stepRetryOnly(at("retry"));
  checker.phase(at("setup"), setup);
  const after = afterSetup(setup, given);
  const results = withResults(after);
  checker.shape(raw);
  const inItem = "map" in raw ? checker.map(at("map"), after) : undefined;
  checker.sequence(at("steps"), withItem(after));
  checker.verify(at("verify"), after);
  checker.phase(at("reduce"), results);
  checker.phase(at("merge"), withMerge(results));
  checker.itemMerge(at("merge"), at("map"), inItem);
  checker.errorPolicy(at("error_policy"), withItem(after));
  return checker.findings;
}

class Checker {
  readonly findings: Finding[] = [];
  readonly #ids = new Set<string>();
  readonly #secrets: readonly string[];

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  phase(phase: Field, known: Known): void {
    this.steps(isJsonObject(phase.value) ? child(phase, "commands") : phase, known);
  }

  /** A workflow has either a map phase or steps. */
  shape(raw: Mapping): void {
    const root = { value: raw, path: [] };
    if (!("map" in raw || "steps" in raw))
      this.findings.push({
        path: [],
        message: 'the key "map" is missing, or "steps"',
        lacks: ["map", "steps"],
      });
    if ("map" in raw && "steps" in raw)
      this.#reportKey(
        child(root, "steps"),
        "a workflow has either map or steps; write setup for steps before the items",
      );
    if ("map" in raw && "iterations" in raw)
      this.#reportKey(child(root, "iterations"), "iterations has no effect here; it is for steps");
    if ("map" in raw && "isolation" in raw)
      this.#reportKey(child(root, "isolation"), "isolation has no effect here; write it in map");
    if (!("verify" in raw)) return;
    const verify = child(root, "verify");
    if ("steps" in raw)
      this.#reportKey(verify, "verify needs map; in a file with steps, check the work in the last step");
    if (child(child(root, "map"), "isolation").value === "none")
      this.#reportKey(verify, "verify needs worktrees; it has no effect with isolation: none");
    if (child(child(root, "merge"), "strategy").value === "branch-per-item")
      this.#reportKey(
        verify,
        "verify has no effect with branch-per-item, which does not combine the work of items",
      );
  }

  sequence(steps: Field, known: Known): void {
    if (Array.isArray(steps.value) && steps.value.length === 0)
      this.#report(steps, "the list of steps is empty");
    this.steps(steps, known);
  }

  verify(verify: Field, known: Known): void {
    const steps = isJsonObject(verify.value) ? child(verify, "steps") : verify;
    if (Array.isArray(steps.value) && steps.value.length === 0)
      this.#report(verify, "the list of steps is empty");
    this.steps(steps, known);
  }

  /** Returns the variables that are known after the steps of an item. */
  map(map: Field, known: Known): Known {
    const input = child(map, "input");
    if (isJsonObject(input.value)) this.#text(child(input, "command"), known, "shell");
    else this.#text(input, known);
    this.#parse(child(map, "json_path"), jsonPathProblem);
    this.#expression(child(map, "filter"), FILTER_VARIABLES);
    for (const key of elements(child(map, "sort_by")))
      this.#parse(key, (text) => usageProblem(() => parseSortKeys(text)));
    if (child(map, "isolation").value === "none" && child(map, "remote").value !== undefined)
      this.#reportKey(child(map, "remote"), "remote has no effect with isolation: none");
    const template = child(map, "agent_template");
    const steps = isJsonObject(template.value) ? template.value.commands : template.value;
    if (Array.isArray(steps) && steps.length === 0) this.#report(template, "the list of steps is empty");
    const inItem = withItem(known);
    this.phase(template, inItem);
    return inItem;
  }

  /** `inItem` has the variables of an item; it is undefined for a workflow without items. */
  itemMerge(merge: Field, map: Field, inItem: Known | undefined): void {
    for (const key of ITEM_MERGE_KEYS.filter((name) => keysOf(merge).includes(name))) {
      const field = child(merge, key);
      if (inItem === undefined)
        this.#reportKey(field, `${key} has no effect for steps; it is for the items of map`);
      else if (child(map, "isolation").value === "none")
        this.#reportKey(field, `${key} has no effect with isolation: none`);
    }
    this.#text(child(merge, "message"), inItem ?? new Map());
    const onConflict = child(merge, "on_conflict");
    if (onConflict.value !== undefined && child(merge, "strategy").value === "branch-per-item")
      this.#reportKey(onConflict, "on_conflict has no effect with branch-per-item: nothing is merged");
    this.steps(onConflict, new Map(inItem).set("conflict", ["files"]));
  }

  errorPolicy(policy: Field, known: Known): void {
    const [action, handler] = [child(policy, "on_item_failure"), child(policy, "custom_handler")];
    const inHandler = new Map(known).set("error", ERROR_FIELDS);
    this.retry(child(policy, "retry_config"));
    this.stepRetryOnly(child(policy, "retry_config"));
    const outage = child(policy, "max_outage");
    if (outage.value !== undefined && child(policy, "on_outage").value !== "wait")
      this.#reportKey(outage, "max_outage has no effect without on_outage: wait");
    this.steps(handler, inHandler);
    this.steps(child(action, "custom"), inHandler);
    const isCustom = action.value === "custom";
    if (isCustom && handler.value === undefined)
      this.#report(action, "custom needs steps: add custom_handler below it");
    if (!isCustom && handler.value !== undefined)
      this.#reportKey(handler, "custom_handler has no effect without on_item_failure: custom");
  }

  retry({ value, path }: Field): void {
    const parsed = retryForm.safeParse(value);
    for (const problem of parsed.success ? retryProblems(parsed.data) : [])
      this.#reportKey({ value, path: [...path, ...problem.path] }, problem.message);
  }

  #patterns(patterns: Field): void {
    for (const pattern of elements(patterns)) this.#parse(pattern, patternProblem);
  }

  stepRetryOnly(retry: Field): void {
    for (const key of ["retry_on", "retry_budget"])
      if (keysOf(retry).includes(key))
        this.#reportKey(child(retry, key), `${key} has no effect here; it is for the retry of a step`);
  }

  environment(env: Field, known: KnownVariables): void {
    for (const name of keysOf(env)) {
      const at = child(env, name);
      if (!NAME_PATTERN.test(name)) this.#reportKey(at, `"${name}" is not a valid variable name`);
      this.#text(at, known);
    }
  }

  steps(steps: Field, known: Known): void {
    for (const step of elements(steps)) this.#step(step, known);
  }

  #step(step: Field, known: Known): void {
    const { value } = step;
    if (!isJsonObject(value)) return;
    this.#oneAction(step, value);
    this.#id(child(step, "id"));
    this.#expression(child(step, "when"), new Map(known).set("vars", "any"));
    this.environment(child(step, "env"), known);
    this.#action(step, known);
    for (const key of ["working_dir", "output_file"]) this.#text(child(step, key), known);
    this.retry(child(step, "retry"));
    this.#patterns(child(child(step, "retry"), "retry_on"));
    this.#handler(child(step, "on_failure"), withCapture(known, value), "error");
    this.#capture(step, value, known);
    const validate = child(step, "validate");
    if (isJsonObject(validate.value) && "steps" in validate.value)
      this.steps(child(validate, "steps"), known);
    else if (!isSelfRated(validate)) this.#step(validate, known);
    this.#text(child(validate, "result_file"), known);
    this.#handler(child(validate, "on_incomplete"), known, "validation");
    const codes = child(step, "on_exit_code");
    for (const code of keysOf(codes)) this.steps(child(codes, code), known);
    this.steps(child(step, "on_success"), known);
  }

  #oneAction(step: Field, value: Mapping): void {
    const [first, ...others] = ACTION_KEYS.filter((key) => key in value);
    const message = `a step needs an action: ${ACTION_KEYS.join(", ")}`;
    if (first === undefined) this.findings.push({ path: step.path, message, lacks: ACTION_KEYS });
    for (const extra of others)
      this.#reportKey(
        child(step, extra),
        `a step can have only one action, and this one already has ${first}`,
      );
  }

  #action(step: Field, known: Known): void {
    this.#text(child(step, "shell"), known, "shell");
    this.#text(child(step, "claude"), known);
    const [agent, file, foreach] = [child(step, "agent"), child(step, "write_file"), child(step, "foreach")];
    const [command, prompt] = [child(agent, "command"), child(agent, "prompt")];
    this.#text(command, known);
    this.#parse(command, (line) => usageProblem(() => splitWords(line)));
    this.#text(prompt, known);
    const resume = child(agent, "resume");
    this.#text(resume, new Map(known).set("agent", ["session"]));
    this.#parse(resume, (line) => usageProblem(() => splitWords(line)));
    for (const { field, message } of sessionProblems(step)) this.#reportKey(field, message);
    for (const word of elements(command)) this.#secretArgument(word, command);
    if (child(agent, "prompt_by").value === "argument") this.#secretArgument(prompt, prompt);
    for (const key of ["path", "content"]) this.#text(child(file, key), known);
    if (isJsonObject(foreach.value)) this.#foreach(foreach, foreach.value, known);
  }

  /** Reports a secret in an argument, because other users of the machine can read the arguments of a process. */
  #secretArgument({ value }: Field, { path }: Field): void {
    for (const part of typeof value === "string" ? templateParts(value) : []) {
      if (typeof part === "string" || part.kind !== "placeholder" || part.name !== "env") continue;
      const secret = String(part.path[0] ?? "");
      if (!this.#secrets.includes(secret)) continue;
      const message = `the secret ${secret} would be in an argument of the agent. Let the agent read it from its environment`;
      this.findings.push({ path, word: secret, message });
      return;
    }
  }

  #foreach(foreach: Field, value: Mapping, known: Known): void {
    const { path } = foreach;
    for (const key of ["items", "list"]) {
      this.#text(child(foreach, key), known);
      this.#text(child(child(foreach, key), "command"), known, "shell");
    }
    this.#twice(foreach, value, "items", "list");
    this.#twice(foreach, value, "steps", "do");
    if (!("items" in value || "list" in value))
      this.findings.push({ path, message: 'the key "items" is missing', lacks: ["items", "list"] });
    const steps = value.steps ?? value.do;
    if (steps === undefined || (Array.isArray(steps) && steps.length === 0))
      this.findings.push({ path, message: "the list of steps is empty", lacks: ["steps", "do"] });
    const inner = inRound(known, value.own_item === true);
    for (const key of ["steps", "do"]) this.steps(child(foreach, key), inner);
    for (const [name, fields] of inner)
      if (!known.has(name) && !RESERVED_NAMES.has(name)) known.set(name, fields);
  }

  /**
   * A handler is a list of steps, or a single step with additional keys. `local` is a variable that only the
   * handler can use.
   */
  #handler(handler: Field, known: Known, local: "error" | "validation"): void {
    const { value } = handler;
    if (value === undefined) return;
    const inner = new Map(known).set(local, local === "error" ? ERROR_FIELDS : VALIDATION_FIELDS);
    if (!isJsonObject(value) || !("steps" in value || "commands" in value)) this.steps(handler, inner);
    else {
      this.#twice(handler, value, "steps", "commands");
      for (const key of ["steps", "commands"]) this.steps(child(handler, key), inner);
      for (const key of Object.keys(value).filter((name) => STEP_KEYS.has(name) && name !== "timeout"))
        this.#reportKey(child(handler, key), `${key} must be inside one of the steps, not next to them`);
    }
    takeOver(known, inner);
  }

  #capture(step: Field, value: Mapping, known: Known): void {
    this.#twice(step, value, "capture", "capture_output");
    const field = child(step, "capture" in value ? "capture" : "capture_output");
    const name = field.value;
    if (name === undefined && "capture_format" in value)
      this.#reportKey(child(step, "capture_format"), "capture_format has no effect without capture");
    if (typeof name !== "string" || !CAPTURE_PATTERN.test(name)) return;
    const [first = ""] = name.split(".");
    if (RESERVED_NAMES.has(first) || !isExpressionName(first))
      this.#report(field, `the name "${first}" is already used; choose another`);
    else known.set(first, "any");
  }

  #id(id: Field): void {
    if (typeof id.value !== "string") return;
    if (this.#ids.has(id.value)) this.#report(id, `the id "${id.value}" is already used by another step`);
    this.#ids.add(id.value);
  }

  /** Reports unknown variables, and variables in positions where a shell would run their values. */
  #text(texts: Field, known: KnownVariables, mode: ExpandMode = "plain"): void {
    for (const { value: text, path } of elements(texts)) {
      if (typeof text !== "string") continue;
      for (const part of templateParts(text)) {
        if (typeof part === "string") continue;
        const problem =
          part.kind === "unreadable"
            ? { message: unreadable(part.written).replace(/\.$/, "") }
            : placeholderProblem(part, known);
        if (problem) this.findings.push({ path, word: part.written, ...problem });
      }
      for (const { written: word, message } of mode === "shell" ? shellProblems(text) : [])
        this.findings.push({ path, word, message: message.replace(/\.$/, "") });
    }
  }

  #expression({ value: text, path }: Field, known: KnownVariables): void {
    if (typeof text !== "string" || text.trim() === "") return;
    const compiled = compileExpression(text, known);
    if (compiled.ok) return;
    const { message, word, suggestion } = compiled;
    this.findings.push({ path, message, word, suggestion });
  }

  /** Reports the problem of a text that is not blank. */
  #parse(field: Field, problemOf: (text: string) => string | undefined): void {
    const { value: text } = field;
    const problem = typeof text === "string" && text.trim() !== "" ? problemOf(text) : undefined;
    if (problem !== undefined) this.#report(field, problem);
  }

  #twice(field: Field, mapping: Mapping, key: string, alias: string): void {
    for (const { message } of twice(mapping, key, alias, [])) this.#reportKey(child(field, alias), message);
  }

  #report({ path }: Field, message: string): void {
    this.findings.push({ path, message });
  }

  #reportKey({ path }: Field, message: string): void {
    this.findings.push({ path, atKey: true, message });
  }
}

/** A validation without an action expects the validated step to write the result file. */
function isSelfRated({ value }: Field): boolean {
  return isJsonObject(value) && "result_file" in value && ACTION_KEYS.every((key) => !(key in value));
}

/** A handler can also read what its step captures. */
function withCapture(known: Known, { capture, capture_output: older }: Mapping): Known {
  const name = capture ?? older;
  return typeof name === "string" ? new Map(known).set(name.split(".")[0] ?? name, "any") : known;
}
