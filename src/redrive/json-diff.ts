/** What two JSON values have of each other: the smallest places that differ, in order. Lists are compared place by place. */
import { canonicalJson, isJsonObject, type Json } from "../kit/json.ts";
import { type Path, pathText, type Step } from "./set-path.ts";

/** One place that differs. Without `before` it is new, without `after` it is gone. */
export interface Change {
  /** As `set-path.ts` writes it; `.` is all of the data. */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

/** What has to be changed to get from one to the other; empty when they are equal. */
export function diffJson(before: Json, after: Json): readonly Change[] {
  return [...changes(before, after, [])];
}

/** Equal data, whatever the order of fields. */
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

/** The fields of an object or the places of a list; undefined for anything else. */
function entriesOf(value: Json): Entries | undefined {
  if (isList(value)) return new Map(value.map((entry, index) => [index, entry]));
  return isJsonObject(value) ? new Map(Object.entries(value)) : undefined;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
