/** Makes the new data of a letter as a fix says, and keeps what it needs for that with the operation. */
import type { Letter } from "../item/letter.ts";
import { isJsonObject, type Json, type JsonObject } from "../kit/json.ts";
import { type AskOptions, askCommand, type FixAnswer } from "./fix-command.ts";
import type { FixChange, FixRule } from "./fix-rule.ts";
import { compileRecipe, type Recipe } from "./recipe.ts";

/** The new data of one letter, or why it stays as it is. */
export type Fixer = (letter: Letter) => Promise<FixAnswer>;

export interface FixerOptions extends AskOptions {
  /** JSON Schemas; the new data has to fit each. */
  readonly schemas?: readonly Json[];
}

/** Compiled once, for many letters. */
export async function fixerOf(change: FixChange, options: FixerOptions = {}): Promise<Fixer> {
  const { schemas = [], ...asking } = options;
  if (change.kind !== "command") {
    const amend = await compileRecipe({ ...recipeOf(change), schemas });
    return async (letter) => amend(letter);
  }
  const allowed = await compileRecipe({ schemas });
  return async (letter) => {
    const answer = await askCommand(change, letter, asking);
    return answer.ok ? allowed({ ...letter, itemData: answer.data }) : answer;
  };
}

function recipeOf(change: Exclude<FixChange, { kind: "command" }>): Recipe {
  if (change.kind === "patch") return { patch: change.patch };
  return { set: Object.entries(change.set).map(([path, value]) => ({ path, value })) };
}

/** What an edit keeps of its rule, so that it can go on although the settings have changed. */
export interface FixPlan {
  readonly rule: string;
  readonly change: FixChange;
}

export function fixPlanToJson({ name, change }: Pick<FixRule, "name" | "change">): JsonObject {
  return { fix: { rule: name, change: JSON.parse(JSON.stringify(change)) } };
}

/** Null when the plan is that of another edit. */
export function fixPlanOf({ plan }: { readonly plan: JsonObject }): FixPlan | null {
  const { fix } = plan;
  if (!isJsonObject(fix) || typeof fix.rule !== "string") return null;
  const change = changeFrom(fix.change);
  return change === null ? null : { rule: fix.rule, change };
}

function changeFrom(json: Json | undefined): FixChange | null {
  if (!isJsonObject(json)) return null;
  const { kind, set, patch, command, cwd, timeoutMs } = json;
  if (kind === "patch" && isJsonObject(patch)) return { kind, patch };
  if (kind === "set" && isJsonObject(set)) {
    return {
      kind,
      set: Object.fromEntries(Object.entries(set).map(([path, value]) => [path, String(value)])),
    };
  }
  if (kind !== "command" || !Array.isArray(command)) return null;
  const [program = "", ...args] = command.map(String);
  return { kind, command: [program, ...args], cwd: String(cwd), timeoutMs: Number(timeoutMs) };
}
