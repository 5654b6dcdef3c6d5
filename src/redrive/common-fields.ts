/** Finds what the data of letters has in common: the most frequent values of each field. Reads, never writes. */
import type { Engine } from "../engine.ts";
import type { Json, JsonObject } from "../std/json.ts";

export interface CommonField {
  /** Where the value is, e.g. `customer.country`; empty for data that is a single value. */
  readonly path: string;
  /** The most frequent values, with the number of letters that have them. */
  readonly values: readonly { readonly value: Json; readonly count: number }[];
}

export interface CommonFields {
  /** How many letters were read. */
  readonly read: number;
  readonly fields: readonly CommonField[];
}

const LETTERS_MAX = 500;
const FIELDS_MAX = 12;
const VALUES_MAX = 5;
const DEPTH_MAX = 4;
const TEXT_CHARS_MAX = 200;

/** Reads the newest letters of a group. A field whose values all differ is left out, because it carries no information. `mask` hides values. */
export async function readCommonFields(
  engine: Engine,
  signature: string,
  mask: (data: Json) => Json = (data) => data,
): Promise<CommonFields> {
  const { letters } = await engine.listLetters({
    signatures: [signature],
    limit: LETTERS_MAX,
    parts: ["data"],
    counted: false,
  });
  const counts = new Map<string, Map<string, number>>();
  for (const { itemData } of letters) countValues(counts, mask(itemData));
  const fields = [...counts]
    .map(([path, values]) => fieldOf(path, values))
    .filter(({ values }) => letters.length === 1 || (values[0]?.count ?? 0) > 1)
    .sort((one, other) => (other.values[0]?.count ?? 0) - (one.values[0]?.count ?? 0));
  return { read: letters.length, fields: fields.slice(0, FIELDS_MAX) };
}

function countValues(counts: Map<string, Map<string, number>>, data: Json): void {
  for (const [path, value] of leavesOf(data, "", 0)) {
    const values = counts.get(path) ?? new Map<string, number>();
    const text = JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? String(one) : one));
    if (text.length <= TEXT_CHARS_MAX) values.set(text, (values.get(text) ?? 0) + 1);
    counts.set(path, values);
  }
}

/** Lists are left out, because letters rarely share a value at the same list index. */
function* leavesOf(value: Json, path: string, depth: number): Generator<readonly [string, Json]> {
  if (typeof value !== "object" || value === null) yield [path, value];
  else if (!Array.isArray(value) && depth < DEPTH_MAX)
    for (const [key, child] of Object.entries(value as JsonObject))
      yield* leavesOf(child, path === "" ? key : `${path}.${key}`, depth + 1);
}

function fieldOf(path: string, values: ReadonlyMap<string, number>): CommonField {
  const frequent = [...values].sort(([, one], [, other]) => other - one).slice(0, VALUES_MAX);
  return { path, values: frequent.map(([text, count]) => ({ value: JSON.parse(text) as Json, count })) };
}
