/**
 * `${step.files_changed}` and `${workflow.commits}`: the changes of steps in their worktree. Read from git
 * only if a step uses them.
 */
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import type { Step } from "./model.ts";
import type { StepContext } from "./step-context.ts";
import type { Scope } from "./step-variables.ts";

/** Changes since a commit. Default: since the commit from which the item or the run started. */
export type ReadChanges = (since?: string) => Promise<JsonObject>;

const NOTHING: JsonObject = {
  files_added: [],
  files_modified: [],
  files_deleted: [],
  files_changed: [],
  commits: [],
  commit_count: 0,
  insertions: 0,
  deletions: 0,
};

/** Fields of `${workflow.…}` and, with its name and index, of `${step.…}`. */
export const CHANGE_FIELDS: readonly string[] = Object.keys(NOTHING);

const USES = new RegExp(String.raw`\b(?:step|workflow|steps[.?]+\w+)[.?]+(?:${CHANGE_FIELDS.join("|")})\b`);

/** Returns undefined if no step uses the variables, to avoid the cost of reading them. */
export function gitVariablesFor(steps: readonly Step[], { changes }: StepContext): GitVariables | undefined {
  return USES.test(JSON.stringify(steps)) ? new GitVariables(changes ?? (async () => NOTHING)) : undefined;
}

export class GitVariables {
  readonly #changes: ReadChanges;

  constructor(changes: ReadChanges) {
    this.#changes = changes;
  }

  /** After a restart, `step` keeps its stored value. */
  async begin(scope: Scope): Promise<void> {
    scope.set("step", { ...NOTHING, ...stepOf(scope) });
    await this.#setWorkflow(scope);
  }

  /** Sets the changes of the step that has just ended, under its id, too. */
  async record(scope: Scope, headBefore: string | undefined, id: string | undefined): Promise<void> {
    const changes = headBefore === undefined ? NOTHING : await this.#changes(headBefore);
    scope.set("step", { ...stepOf(scope), ...changes });
    const { steps } = scope.all();
    if (id !== undefined && isJsonObject(steps) && isJsonObject(steps[id]))
      scope.set("steps", { ...steps, [id]: { ...steps[id], ...changes } });
    await this.#setWorkflow(scope);
  }

  async #setWorkflow(scope: Scope): Promise<void> {
    const { workflow } = scope.all();
    const known: Record<string, Json> = isJsonObject(workflow) ? workflow : {};
    scope.set("workflow", { ...known, ...(await this.#changes()) });
  }
}

/** Sets `${step.name}` and `${step.index}` of the step that begins. */
export function nameStep(scope: Scope, name: string, index: number): void {
  scope.set("step", { ...stepOf(scope), name, index });
}

function stepOf(scope: Scope): JsonObject {
  const { step } = scope.all();
  return isJsonObject(step) ? step : {};
}
