/** Compiles changes to the data of letters: a merge patch, then computed fields, or a complete replacement. */
import { RedriveError } from "../errors.ts";
import type { Letter } from "../item/letter.ts";
import { compact, isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { parsePath, setAtPath } from "../std/set-path.ts";

/**
 * A path and a CEL expression for its new value. `item`, `letter` and `failure` contain the values before the
 * change.
 */
export type Setting = { readonly path: string; readonly value: string };

/** A change to the data of letters. */
export interface Recipe {
  readonly set?: readonly Setting[];
  /** A JSON merge patch (RFC 7396), applied before `set`. */
  readonly patch?: Json;
  /** Replaces all data, but only if the letter still has this revision. */
  readonly replace?: { readonly data: Json; readonly revision: number };
  readonly schemas?: readonly Json[];
}

export type Amended =
  | { readonly ok: true; readonly data: Json }
  | { readonly ok: false; readonly reason: string };

export type Amend = (letter: Letter) => Amended;

/** Parses `path=CEL`. The path ends at the first `=` outside brackets. */
export function parseSetting(text: string): Setting {
  const match = /^((?:\[(?:"(?:\\.|[^"\\])*"|\d+)\]|[^=[])*)=(.*)$/s.exec(text);
  const [path, value] = [match?.[1]?.trim() ?? "", match?.[2]?.trim() ?? ""];
  if (path !== "" && value !== "") return { path, value };
  throw new RedriveError("usage", `--set: "${text}" is not path=CEL.`, {
    hint: `Write a path and a value, e.g. --set 'retries=item.retries + 1' or --set 'state="new"'.`,
  });
}

/** Compiles a recipe. Throws `usage` for an invalid path or schema, and `filter_invalid` for invalid CEL. */
export async function compileRecipe(recipe: Recipe): Promise<Amend> {
  const { replace, set = [], patch, schemas = [] } = recipe;
  const settings = await compileSettings(set);
  const change: Amend = replace
    ? ({ revision }) =>
        revision === replace.revision
          ? { ok: true, data: replace.data }
          : { ok: false, reason: `its data changed in the meantime (revision ${revision})` }
    : (letter) =>
        settings(letter, patch === undefined ? letter.itemData : mergePatch(letter.itemData, patch));
  const checks = await compileSchemas(schemas);
  return (letter) => {
    const amended = change(letter);
    const problem = amended.ok ? firstProblem(checks, amended.data) : undefined;
    return problem === undefined ? amended : { ok: false, reason: `does not match the schema: ${problem}` };
  };
}

async function compileSettings(set: readonly Setting[]): Promise<(letter: Letter, data: Json) => Amended> {
  if (set.length === 0) return (_, data) => ({ ok: true, data });
  const paths = set.map(({ path }) => parsePath(path));
  const { requireValue } = await import("../std/expression.ts");
  const { LETTER_VARIABLES, letterVariables } = await import("./where.ts");
  const settings = set.map(({ path: name, value }, index) => {
    const compute = requireValue(value, LETTER_VARIABLES, `The value of ${name}`);
    return { name, path: paths[index] ?? [], compute };
  });
  return (letter, before) => {
    const variables = letterVariables(letter);
    let data = before;
    for (const { name, path, compute } of settings) {
      const value = compute(variables);
      if (!value.ok) return { ok: false, reason: `${name} cannot be computed: ${value.message}` };
      const changed = setAtPath(data, path, value.value);
      if (!changed.ok) return { ok: false, reason: `${name} cannot be set: ${changed.message}` };
      data = changed.value;
    }
    return { ok: true, data };
  };
}

type SchemaCheck = (data: Json) => string | undefined;

async function compileSchemas(schemas: readonly Json[]): Promise<readonly SchemaCheck[]> {
  if (schemas.length === 0) return [];
  const { compileSchema } = await import("./data-schema.ts");
  return schemas.map(compileSchema);
}

function firstProblem(checks: readonly SchemaCheck[], data: Json): string | undefined {
  for (const check of checks) {
    const problem = check(data);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

export function recipeToJson({ set, patch, replace, schemas }: Recipe): JsonObject {
  return compact({
    set: set?.map(({ path, value }) => ({ path, value })),
    patch,
    replace: replace && { ...replace },
    schemas: schemas && schemas.length > 0 ? schemas : undefined,
  });
}

export function recipeFromJson({ set, patch, replace, schemas }: JsonObject): Recipe {
  return compact({ set, patch, replace, schemas }) as unknown as Recipe;
}

/** Applies a merge patch without changing its arguments. */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const fields = new Map<string, Json>(isJsonObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) fields.delete(name);
    else fields.set(name, mergePatch(fields.get(name) ?? null, value));
  }
  return Object.fromEntries(fields) as JsonObject;
}
