/** Checks rules that the schema cannot express. Skips parts that violate the schema, so that the others are still checked. */
import { type Placeholder, templateParts } from "../attempt/template.ts";
import {
  compileExpression,
  FILTER_VARIABLES,
  isExpressionName,
  type KnownVariables,
} from "../std/expression.ts";
import { isJsonObject } from "../std/json.ts";
import { nearest } from "../std/nearest.ts";
import type { Finding } from "../yaml/read-yaml.ts";
import { jsonPathProblem } from "./json-path.ts";
import { splitWords } from "./program.ts";
import { parseSortKeys } from "./select-items.ts";
import { shellProblems } from "./shell-values.ts";
import { ACTION_KEYS, NAME_PATTERN, retryForm, retryProblems, STEP_KEYS, twice } from "./step-form.ts";
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
  withResults,
} from "./step-variables.ts";
import { type ExpandMode, unknownVariable, unreadable, usageProblem } from "./variables.ts";

type Path = readonly PropertyKey[];
type Mapping = Readonly<Record<string, unknown>>;

/** Returns all violations of these rules. `given` has the names of variables from the command line. */
export function checkWorkflow(raw: unknown, given: readonly string[]): readonly Finding[] {
  if (!isJsonObject(raw)) return [];
  const checker = new Checker(Array.isArray(raw.secrets) ? raw.secrets.map(String) : []);
  const setup = inSetup(given);
  checker.environment(raw.env, ["env"], setup);
  checker.retry(raw.retry, ["retry"]);
  checker.phase(raw.setup, ["setup"], setup);
  const after = afterSetup(setup, given);
  const results = withResults(after);
  checker.map(raw.map, ["map"], after);
  checker.phase(raw.reduce, ["reduce"], results);
  checker.phase(raw.merge, ["merge"], results);
  checker.errorPolicy(raw.error_policy, ["error_policy"], withItem(after));
  return checker.findings;
}

class Checker {
  readonly findings: Finding[] = [];
  readonly #ids = new Set<string>();
  readonly #secrets: readonly string[];

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  phase(phase: unknown, path: Path, known: Known): void {
    if (isJsonObject(phase)) this.steps(phase.commands, [...path, "commands"], known);
    else this.steps(phase, path, known);
  }

  map(map: unknown, path: Path, known: Known): void {
    if (!isJsonObject(map)) return;
    const { input, json_path: jsonPath, sort_by: sortBy, agent_template: template } = map;
    if (isJsonObject(input)) this.#text(input.command, [...path, "input", "command"], known, "shell");
    else this.#text(input, [...path, "input"], known);
    if (typeof jsonPath === "string" && jsonPath.trim() !== "") {
      this.#report([...path, "json_path"], jsonPathProblem(jsonPath));
    }
    this.#expression(map.filter, [...path, "filter"], FILTER_VARIABLES);
    for (const [text, at] of elements(sortBy, [...path, "sort_by"])) {
      if (text.trim() !== "")
        this.#report(
          at,
          usageProblem(() => parseSortKeys(text)),
        );
    }
    const steps = isJsonObject(template) ? template.commands : template;
    const at = [...path, "agent_template"];
    if (Array.isArray(steps) && steps.length === 0) this.#report(at, "there is no step in it");
    this.phase(template, at, withItem(known));
  }

  errorPolicy(policy: unknown, path: Path, known: Known): void {
    if (!isJsonObject(policy)) return;
    const { on_item_failure: action, custom_handler: handler } = policy;
    const inHandler = new Map(known).set("error", ERROR_FIELDS);
    this.retry(policy.retry_config, [...path, "retry_config"]);
    if (policy.max_outage !== undefined && policy.on_outage !== "wait") {
      this.#reportKey([...path, "max_outage"], "max_outage has no meaning without on_outage: wait");
    }
    this.steps(handler, [...path, "custom_handler"], inHandler);
    if (isJsonObject(action)) this.steps(action.custom, [...path, "on_item_failure", "custom"], inHandler);
    if (action === "custom" && handler === undefined) {
      this.#report([...path, "on_item_failure"], "custom needs its steps: write custom_handler below it");
    }
    if (action !== "custom" && handler !== undefined) {
      const message = "custom_handler has no meaning without on_item_failure: custom";
      this.#reportKey([...path, "custom_handler"], message);
    }
  }

  retry(retry: unknown, path: Path): void {
    const parsed = retryForm.safeParse(retry);
    if (!parsed.success) return;
    for (const problem of retryProblems(parsed.data)) {
      this.#reportKey([...path, ...problem.path], problem.message);
    }
  }

  environment(env: unknown, path: Path, known: KnownVariables): void {
    if (!isJsonObject(env)) return;
    for (const [name, value] of Object.entries(env)) {
      const at = [...path, name];
      if (!NAME_PATTERN.test(name)) this.#reportKey(at, `"${name}" cannot be the name of a variable`);
      this.#text(value, at, known);
    }
  }

  steps(steps: unknown, path: Path, known: Known): void {
    if (isJsonObject(steps)) this.#step(steps, path, known);
    if (!Array.isArray(steps)) return;
    for (const [index, step] of steps.entries()) {
      if (isJsonObject(step)) this.#step(step, [...path, index], known);
    }
  }

  #step(step: Mapping, path: Path, known: Known): void {
    this.#oneAction(step, path);
    this.#id(step.id, [...path, "id"]);
    this.#expression(step.when, [...path, "when"], known);
    this.environment(step.env, [...path, "env"], known);
    this.#action(step, path, known);
    for (const key of ["working_dir", "output_file"]) this.#text(step[key], [...path, key], known);
    this.retry(step.retry, [...path, "retry"]);
    this.#handler(step.on_failure, [...path, "on_failure"], known, "error");
    this.#capture(step, path, known);
    if (isJsonObject(step.validate)) this.#validate(step.validate, [...path, "validate"], known);
    for (const [code, steps] of Object.entries(isJsonObject(step.on_exit_code) ? step.on_exit_code : {})) {
      this.steps(steps, [...path, "on_exit_code", code], known);
    }
    this.steps(step.on_success, [...path, "on_success"], known);
  }

  #oneAction(step: Mapping, path: Path): void {
    const [first, ...others] = ACTION_KEYS.filter((key) => key in step);
    if (first === undefined) {
      const message = `a step needs an action: ${ACTION_KEYS.join(", ")}`;
      this.findings.push({ path, message, lacks: ACTION_KEYS });
    }
    for (const extra of others) {
      this.#reportKey([...path, extra], `a step has one action, and this one has ${first} already`);
    }
  }

  #action(step: Mapping, path: Path, known: Known): void {
    this.#text(step.shell, [...path, "shell"], known, "shell");
    this.#text(step.claude, [...path, "claude"], known);
    const { agent, write_file: file, foreach } = step;
    if (isJsonObject(agent)) {
      const [command, prompt] = [
        [...path, "agent", "command"],
        [...path, "agent", "prompt"],
      ];
      this.#text(agent.command, command, known);
      const line = agent.command;
      if (typeof line === "string")
        this.#report(
          command,
          usageProblem(() => splitWords(line)),
        );
      this.#text(agent.prompt, prompt, known);
      this.#secretArguments([agent.command].flat(), command);
      if (agent.prompt_by === "argument") this.#secretArguments([agent.prompt], prompt);
    }
    if (isJsonObject(file)) {
      for (const key of ["path", "content"]) this.#text(file[key], [...path, "write_file", key], known);
    }
    if (isJsonObject(foreach)) this.#foreach(foreach, [...path, "foreach"], known);
  }

  /** Reports secrets in arguments, because other users of the machine can read the arguments of a process. */
  #secretArguments(texts: readonly unknown[], path: Path): void {
    for (const text of texts) {
      const secret = typeof text === "string" ? secretIn(text, this.#secrets) : undefined;
      if (secret === undefined) continue;
      const message = `the secret ${secret} would stand in an argument of the agent. Let the agent read it from its environment`;
      this.findings.push({ path, word: secret, message });
    }
  }

  #foreach(foreach: Mapping, path: Path, known: Known): void {
    for (const key of ["items", "list"]) this.#text(foreach[key], [...path, key], known);
    this.#twice(foreach, "items", "list", path);
    this.#twice(foreach, "steps", "do", path);
    if (!("items" in foreach || "list" in foreach)) {
      this.findings.push({ path, message: 'the key "items" is missing', lacks: ["items", "list"] });
    }
    const steps = foreach.steps ?? foreach.do;
    if (steps === undefined || (Array.isArray(steps) && steps.length === 0)) {
      this.findings.push({ path, message: "there is no step in it", lacks: ["steps", "do"] });
    }
    const inner = inRound(known);
    for (const key of ["steps", "do"]) this.steps(foreach[key], [...path, key], inner);
    for (const [name, fields] of inner)
      if (!known.has(name) && !RESERVED_NAMES.has(name)) known.set(name, fields);
  }

  /** A handler is a list of steps, or one step with more keys. `local` is the variable that only the handler can use. */
  #handler(handler: unknown, path: Path, known: Known, local: "error" | "validation"): void {
    if (handler === undefined) return;
    const inner = new Map(known).set(local, local === "error" ? ERROR_FIELDS : VALIDATION_FIELDS);
    if (!isJsonObject(handler)) this.steps(handler, path, inner);
    else if ("steps" in handler || "commands" in handler) this.#handlerSteps(handler, path, inner);
    else this.#step(handler, path, inner);
    takeOver(known, inner);
  }

  #handlerSteps(handler: Mapping, path: Path, known: Known): void {
    this.#twice(handler, "steps", "commands", path);
    for (const key of ["steps", "commands"]) this.steps(handler[key], [...path, key], known);
    for (const key of Object.keys(handler)) {
      if (!STEP_KEYS.has(key)) continue;
      this.#reportKey([...path, key], `${key} belongs to one of the steps, not beside them`);
    }
  }

  #validate(validate: Mapping, path: Path, known: Known): void {
    this.#step(validate, path, known);
    this.#handler(validate.on_incomplete, [...path, "on_incomplete"], known, "validation");
  }

  #capture(step: Mapping, path: Path, known: Known): void {
    this.#twice(step, "capture", "capture_output", path);
    const key = "capture" in step ? "capture" : "capture_output";
    const name = step[key];
    if (name === undefined && "capture_format" in step) {
      this.#reportKey([...path, "capture_format"], "capture_format has no meaning without capture");
    }
    if (typeof name !== "string" || !NAME_PATTERN.test(name)) return;
    if (RESERVED_NAMES.has(name) || !isExpressionName(name)) {
      this.#report([...path, key], `the name "${name}" is taken; choose another`);
    } else known.set(name, "any");
  }

  #id(id: unknown, path: Path): void {
    if (typeof id !== "string") return;
    if (this.#ids.has(id)) this.#report(path, `there is another step with the id "${id}"`);
    this.#ids.add(id);
  }

  /** Reports unknown variables, and variables in positions where a shell would run their values. */
  #text(texts: unknown, path: Path, known: KnownVariables, mode: ExpandMode = "plain"): void {
    for (const [text, at] of elements(texts, path)) {
      for (const part of templateParts(text)) {
        if (typeof part === "string") continue;
        const problem =
          part.kind === "unreadable"
            ? { message: unreadable(part.written).replace(/\.$/, "") }
            : placeholderProblem(part, known);
        if (problem) this.findings.push({ path: at, word: part.written, ...problem });
      }
      for (const { written: word, message } of mode === "shell" ? shellProblems(text) : []) {
        this.findings.push({ path: at, word, message: message.replace(/\.$/, "") });
      }
    }
  }

  #expression(text: unknown, path: Path, known: KnownVariables): void {
    if (typeof text !== "string" || text.trim() === "") return;
    const compiled = compileExpression(text, known);
    if (compiled.ok) return;
    const { message, word, suggestion } = compiled;
    this.findings.push({ path, message, word, suggestion });
  }

  #twice(mapping: Mapping, key: string, alias: string, path: Path): void {
    for (const problem of twice(mapping, key, alias, [])) this.#reportKey([...path, alias], problem.message);
  }

  #report(path: Path, message: string | undefined): void {
    if (message !== undefined) this.findings.push({ path, message });
  }

  #reportKey(path: Path, message: string): void {
    this.findings.push({ path, atKey: true, message });
  }
}

function elements(texts: unknown, path: Path): (readonly [string, Path])[] {
  if (typeof texts === "string") return [[texts, path]];
  if (!Array.isArray(texts)) return [];
  return texts.flatMap((text, index) =>
    typeof text === "string" ? [[text, [...path, index]] as const] : [],
  );
}

/** A name without a path may be unknown if it has a default, because `--var` can set it. */
function placeholderProblem(
  placeholder: Placeholder,
  known: KnownVariables,
): Pick<Finding, "message" | "suggestion"> | undefined {
  const fields = known.get(placeholder.name);
  if (fields === undefined) {
    const isOptional = placeholder.fallback !== undefined && placeholder.path.length === 0;
    return isOptional ? undefined : unknownVariable(placeholder, [...known.keys()]);
  }
  const [field] = placeholder.path;
  if (fields === "any" || field === undefined || fields.includes(String(field))) return undefined;
  const meant = nearest(String(field), fields);
  return {
    message: `${placeholder.written}: there is no "${field}" in ${placeholder.name}`,
    suggestion: meant && `\${${placeholder.name}.${meant}}`,
  };
}

function secretIn(text: string, secrets: readonly string[]): string | undefined {
  for (const part of templateParts(text)) {
    if (typeof part === "string" || part.kind !== "placeholder" || part.name !== "env") continue;
    const name = String(part.path[0] ?? "");
    if (secrets.includes(name)) return name;
  }
  return undefined;
}
