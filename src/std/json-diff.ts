/** Compares two JSON values and lists the smallest differing parts in order. Lists are compared by index. */
import { canonicalJson, isJsonObject, type Json } from "./json.ts";
import { type Path, pathText, type Step } from "./set-path.ts";

/** One difference. Without `before` the value was added, without `after` it was removed. */
export interface Change {
  /** A path in the syntax of `set-path.ts`; `.` is the whole value. */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

export function diffJson(before: Json, after: Json): readonly Change[] {
  return [...changes(before, after, [])];
}

/** Compares two values without regard to the order of fields. */
export function isSameJson(one: Json, other: Json): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

function* changes(before: Json, after: Json, path: Path): Generator<Change> {
  const [had, has] = [entriesOf(before), entriesOf(after)];
  const isSameKind = had !== undefined && has !== undefined && isList(before) === isList(after);
  if (isSameKind) yield* innerChanges(had, has, path);
  else if (!isSameJson(before, after)) yield { path: pathText(path), before, after };
}

type Entries = ReadonlyMap<Step, Json>;

function* innerChanges(had: Entries, has: Entries, path: Path): Generator<Change> {
  for (const step of new Set([...had.keys(), ...has.keys()])) {
    const inner = [...path, step];
    const [before, after] = [had.get(step), has.get(step)];
    if (before !== undefined && after !== undefined) yield* changes(before, after, inner);
    else if (before !== undefined) yield { path: pathText(inner), before };
    else if (after !== undefined) yield { path: pathText(inner), after };
  }
}

function entriesOf(value: Json): Entries | undefined {
  if (isList(value)) return new Map(value.map((entry, index) => [index, entry]));
  return isJsonObject(value) ? new Map(Object.entries(value)) : undefined;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
