/**
 * What is to be changed in the data of letters: a merge patch, then fields that are set to values computed from the
 * letter's own data, or new data as a whole. Compiled before anything is touched; it changes one letter at a time.
 */
import { WorkError } from "../errors.ts";
import { compact } from "../item/failure.ts";
import type { Letter } from "../item/letter.ts";
import { isJsonObject, type Json, type JsonObject } from "../kit/json.ts";
import { mergePatch } from "./merge-patch.ts";
import { parsePath, setAtPath } from "./set-path.ts";

/** A field and the CEL of its new value, over `item`, `letter` and `failure` as they are before the change. */
export interface Setting {
  readonly path: string;
  readonly value: string;
}

export interface Recipe {
  readonly set?: readonly Setting[];
  /** RFC 7396; goes before `set`. */
  readonly patch?: Json;
  /** All of the data, made from the given revision of it: another revision is refused. */
  readonly replace?: { readonly data: Json; readonly revision: number };
  /** JSON Schemas; the new data has to fit each. */
  readonly schemas?: readonly Json[];
}

/** The new data of a letter, or why there is none. */
export type Amended =
  | { readonly ok: true; readonly data: Json }
  | { readonly ok: false; readonly reason: string };

/** Makes the new data of one letter from its own. */
export type Amend = (letter: Letter) => Amended;

/** Reads `path=CEL`; the path ends at the first `=` outside of brackets. */
export function parseSetting(text: string): Setting {
  const match = /^((?:\[(?:"(?:\\.|[^"\\])*"|\d+)\]|[^=[])*)=(.*)$/s.exec(text);
  const [path, value] = [match?.[1]?.trim() ?? "", match?.[2]?.trim() ?? ""];
  if (path !== "" && value !== "") return { path, value };
  throw new WorkError("usage", `--set: "${text}" is not path=CEL.`, {
    hint: `Write a path and a value, e.g. --set 'retries=item.retries + 1' or --set 'state="new"'.`,
  });
}

/** Compiles all of it, or refuses it: `usage` for a path or a schema, `filter_invalid` for CEL. */
export async function compileRecipe(recipe: Recipe): Promise<Amend> {
  const change = recipe.replace ? replacing(recipe.replace) : await changing(recipe);
  const checks = await compileSchemas(recipe.schemas ?? []);
  return (letter) => {
    const amended = change(letter);
    const problem = amended.ok ? firstProblem(checks, amended.data) : undefined;
    return problem === undefined ? amended : { ok: false, reason: `the schema refuses it: ${problem}` };
  };
}

function replacing({ data, revision }: NonNullable<Recipe["replace"]>): Amend {
  return (letter) =>
    letter.revision === revision
      ? { ok: true, data }
      : { ok: false, reason: `its data was changed meanwhile (revision ${letter.revision})` };
}

async function changing({ set = [], patch }: Recipe): Promise<Amend> {
  const applySettings = await compileSettings(set);
  return (letter) =>
    applySettings(letter, patch === undefined ? letter.itemData : mergePatch(letter.itemData, patch));
}

/** CEL is loaded when there is some. */
async function compileSettings(set: readonly Setting[]): Promise<(letter: Letter, data: Json) => Amended> {
  if (set.length === 0) return (_, data) => ({ ok: true, data });
  const paths = set.map(({ path }) => parsePath(path));
  const { requireValue } = await import("../kit/expression.ts");
  const { LETTER_VARIABLES, letterVariables } = await import("./matcher.ts");
  const settings = set.map(({ path, value }, index) => ({
    name: path,
    path: paths[index] ?? [],
    compute: requireValue(value, LETTER_VARIABLES, `The value of ${path}`),
  }));
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
  const { compileSchema } = await import("./data-schema/compile.ts");
  return schemas.map(compileSchema);
}

function firstProblem(checks: readonly SchemaCheck[], data: Json): string | undefined {
  for (const check of checks) {
    const problem = check(data);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The form in which an operation keeps it. */
export function recipeToJson({ set, patch, replace, schemas }: Recipe): JsonObject {
  return compact({
    set: set?.map(({ path, value }) => ({ path, value })),
    patch,
    replace: replace && { ...replace },
    schemas: schemas && schemas.length > 0 ? schemas : undefined,
  });
}

/** What `recipeToJson` wrote. */
export function recipeFromJson({ set, patch, replace, schemas }: JsonObject): Recipe {
  return compact({
    set: listOf(set)?.filter(isJsonObject).map(settingFromJson),
    patch,
    replace: isJsonObject(replace)
      ? { data: replace.data ?? null, revision: Number(replace.revision) }
      : undefined,
    schemas: listOf(schemas),
  });
}

function settingFromJson({ path, value }: JsonObject): Setting {
  return { path: String(path), value: String(value) };
}

function listOf(value: Json | undefined): readonly Json[] | undefined {
  return Array.isArray(value) ? value : undefined;
}
