/** The rules of a workflow that its form cannot express. What does not fit the form is skipped, so that all problems are reported. */
import { FILTER_VARIABLES, isExpressionName, type KnownVariables } from "../std/expression.ts";
import { isJsonObject } from "../std/json.ts";
import type { Finding } from "../yaml/read-yaml.ts";
import { checkExpression, checkTemplate, secretIn } from "./check-text.ts";
import { jsonPathProblem } from "./json-path.ts";
import { splitWords } from "./program.ts";
import { parseSortKeys } from "./select-items.ts";
import { ACTION_KEYS, NAME_PATTERN, retryForm, retryProblems, twice } from "./step-form.ts";
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
import type { ExpandMode } from "./variables.ts";

type Path = readonly PropertyKey[];
type Mapping = Readonly<Record<string, unknown>>;

/** Every problem of this kind. `given` are the names of variables from the command line. */
export function checkWorkflow(raw: unknown, given: readonly string[]): readonly Finding[] {
  if (!isJsonObject(raw)) return [];
  const secrets = Array.isArray(raw.secrets) ? raw.secrets.map(String) : [];
  const checker = new Checker(secrets);
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
    const { input } = map;
    if (isJsonObject(input)) this.#text(input.command, [...path, "input", "command"], known, "shell");
    else this.#text(input, [...path, "input"], known, "plain");
    if (typeof map.json_path === "string" && map.json_path.trim() !== "") {
      this.#told([...path, "json_path"], jsonPathProblem(map.json_path));
    }
    this.#expression(map.filter, [...path, "filter"], FILTER_VARIABLES);
    this.#sortKeys(map.sort_by, [...path, "sort_by"]);
    this.#agentTemplate(map.agent_template, [...path, "agent_template"], withItem(known));
  }

  errorPolicy(policy: unknown, path: Path, known: Known): void {
    if (!isJsonObject(policy)) return;
    const { on_item_failure: action, custom_handler: handler } = policy;
    const inHandler = new Map(known).set("error", ERROR_FIELDS);
    this.retry(policy.retry_config, [...path, "retry_config"]);
    if (policy.max_outage !== undefined && policy.on_outage !== "wait") {
      this.findings.push({
        path: [...path, "max_outage"],
        atKey: true,
        message: "max_outage has no meaning without on_outage: wait",
      });
    }
    this.steps(handler, [...path, "custom_handler"], inHandler);
    if (isJsonObject(action)) {
      this.steps(action.custom, [...path, "on_item_failure", "custom"], inHandler);
    }
    if (action === "custom" && handler === undefined) {
      this.#told([...path, "on_item_failure"], "custom needs its steps: write custom_handler below it");
    }
    if (action !== "custom" && handler !== undefined) {
      this.findings.push({
        path: [...path, "custom_handler"],
        atKey: true,
        message: "custom_handler has no meaning without on_item_failure: custom",
      });
    }
  }

  retry(retry: unknown, path: Path): void {
    const parsed = retryForm.safeParse(retry);
    if (!parsed.success) return;
    for (const problem of retryProblems(parsed.data)) {
      this.findings.push({ path: [...path, ...problem.path], atKey: true, message: problem.message });
    }
  }

  environment(env: unknown, path: Path, known: KnownVariables): void {
    if (!isJsonObject(env)) return;
    for (const [name, value] of Object.entries(env)) {
      if (!NAME_PATTERN.test(name)) {
        this.findings.push({
          path: [...path, name],
          atKey: true,
          message: `"${name}" cannot be the name of a variable`,
        });
      }
      this.#text(value, [...path, name], known, "plain");
    }
  }

  /** One step or several. What they capture is added to the known names. */
  steps(steps: unknown, path: Path, known: Known): void {
    if (isJsonObject(steps)) this.#step(steps, path, known);
    if (!Array.isArray(steps)) return;
    for (const [index, step] of steps.entries()) {
      if (isJsonObject(step)) this.#step(step, [...path, index], known);
    }
  }

  #agentTemplate(template: unknown, path: Path, known: Known): void {
    const steps = isJsonObject(template) ? template.commands : template;
    if (Array.isArray(steps) && steps.length === 0) this.#told(path, "there is no step in it");
    this.phase(template, path, known);
  }

  #step(step: Mapping, path: Path, known: Known): void {
    this.#oneAction(step, path);
    this.#options(step, path, known);
  }

  #options(step: Mapping, path: Path, known: Known): void {
    this.#id(step.id, [...path, "id"]);
    this.#expression(step.when, [...path, "when"], known);
    this.environment(step.env, [...path, "env"], known);
    this.#action(step, path, known);
    for (const key of ["working_dir", "output_file"]) this.#text(step[key], [...path, key], known, "plain");
    this.retry(step.retry, [...path, "retry"]);
    this.#handler(step.on_failure, [...path, "on_failure"], known, "error");
    this.#capture(step, path, known);
    this.#validate(step.validate, [...path, "validate"], known);
    if (isJsonObject(step.on_exit_code)) {
      for (const [code, steps] of Object.entries(step.on_exit_code)) {
        this.steps(steps, [...path, "on_exit_code", code], known);
      }
    }
    this.steps(step.on_success, [...path, "on_success"], known);
  }

  #oneAction(step: Mapping, path: Path): void {
    const actions = ACTION_KEYS.filter((key) => key in step);
    if (actions.length === 0) {
      const message = `a step needs an action: ${ACTION_KEYS.join(", ")}`;
      this.findings.push({ path, message, lacks: ACTION_KEYS });
    }
    for (const extra of actions.slice(1)) {
      const message = `a step has one action, and this one has ${actions[0]} already`;
      this.findings.push({ path: [...path, extra], atKey: true, message });
    }
  }

  #action(step: Mapping, path: Path, known: Known): void {
    this.#text(step.shell, [...path, "shell"], known, "shell");
    this.#text(step.claude, [...path, "claude"], known, "plain");
    const { agent, write_file: file, foreach } = step;
    if (isJsonObject(agent)) {
      const command = [...path, "agent", "command"];
      this.#text(agent.command, command, known, "plain");
      this.#texts(agent.command, command, known);
      const words = typeof agent.command === "string" ? splitWords(agent.command) : undefined;
      if (words?.ok === false) this.#told(command, words.message);
      this.#text(agent.prompt, [...path, "agent", "prompt"], known, "plain");
      this.#secretArguments([agent.command].flat(), command);
      if (agent.prompt_by === "argument") this.#secretArguments([agent.prompt], [...path, "agent", "prompt"]);
    }
    if (isJsonObject(file)) {
      for (const key of ["path", "content"])
        this.#text(file[key], [...path, "write_file", key], known, "plain");
    }
    if (isJsonObject(foreach)) this.#foreach(foreach, [...path, "foreach"], known);
  }

  /** Other users of the machine can read the arguments of a process. */
  #secretArguments(texts: readonly unknown[], path: Path): void {
    for (const text of texts) {
      if (typeof text !== "string") continue;
      const secret = secretIn(text, this.#secrets);
      if (secret === undefined) continue;
      const message = `the secret ${secret} would stand in an argument of the agent. Let the agent read it from its environment`;
      this.findings.push({ path, word: secret, message });
    }
  }

  #foreach(foreach: Mapping, path: Path, known: Known): void {
    for (const key of ["items", "list"]) {
      this.#text(foreach[key], [...path, key], known, "plain");
      this.#texts(foreach[key], [...path, key], known);
    }
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

  /** Steps, or one step with more keys; `local` is the name that holds in the handler only. */
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
      if (HANDLER_KEYS.has(key) || !STEP_OPTIONS.has(key)) continue;
      const message = `${key} belongs to one of the steps, not beside them`;
      this.findings.push({ path: [...path, key], atKey: true, message });
    }
  }

  #validate(validate: unknown, path: Path, known: Known): void {
    if (!isJsonObject(validate)) return;
    this.#step(validate, path, known);
    this.#handler(validate.on_incomplete, [...path, "on_incomplete"], known, "validation");
  }

  #capture(step: Mapping, path: Path, known: Known): void {
    this.#twice(step, "capture", "capture_output", path);
    const key = "capture" in step ? "capture" : "capture_output";
    const name = step[key];
    if (name === undefined && "capture_format" in step) {
      const message = "capture_format has no meaning without capture";
      this.findings.push({ path: [...path, "capture_format"], atKey: true, message });
    }
    if (typeof name !== "string" || !NAME_PATTERN.test(name)) return;
    if (RESERVED_NAMES.has(name) || !isExpressionName(name)) {
      this.#told([...path, key], `the name "${name}" is taken; choose another`);
    } else known.set(name, "any");
  }

  #id(id: unknown, path: Path): void {
    if (typeof id !== "string") return;
    if (this.#ids.has(id)) this.#told(path, `there is another step with the id "${id}"`);
    this.#ids.add(id);
  }

  #sortKeys(keys: unknown, path: Path): void {
    const texts = Array.isArray(keys) ? keys : [keys];
    for (const [index, text] of texts.entries()) {
      if (typeof text !== "string" || text.trim() === "") continue;
      const parsed = parseSortKeys(text);
      if (!parsed.ok) this.#told(Array.isArray(keys) ? [...path, index] : path, parsed.message);
    }
  }

  #text(text: unknown, path: Path, known: KnownVariables, mode: ExpandMode): void {
    if (typeof text === "string") this.findings.push(...checkTemplate(text, path, known, mode));
  }

  #texts(texts: unknown, path: Path, known: KnownVariables): void {
    if (!Array.isArray(texts)) return;
    for (const [index, text] of texts.entries()) this.#text(text, [...path, index], known, "plain");
  }

  #expression(text: unknown, path: Path, known: KnownVariables): void {
    if (typeof text === "string" && text.trim() !== "") {
      this.findings.push(...checkExpression(text, path, known));
    }
  }

  #twice(mapping: Mapping, key: string, alias: string, path: Path): void {
    for (const problem of twice(mapping, key, alias, path.map(String))) {
      this.findings.push({ path: [...path, alias], atKey: true, message: problem.message });
    }
  }

  #told(path: Path, message: string | undefined): void {
    if (message !== undefined) this.findings.push({ path, message });
  }
}

const HANDLER_KEYS: ReadonlySet<string> = new Set(["steps", "commands", "max_attempts", "fail_workflow"]);
const STEP_OPTIONS: ReadonlySet<string> = new Set([
  ...ACTION_KEYS,
  ..."id timeout env working_dir when capture capture_output capture_format on_failure on_success".split(" "),
  ..."on_exit_code retry commit_required validate output_file".split(" "),
]);
