/** Paths that name one value in JSON data: `a.b[0].c`, `["odd key"].x`, and `.` for the whole value. */
import { RedriveError } from "../errors.ts";
import { isJsonObject, type Json } from "./json.ts";
import { tryTo } from "./try-to.ts";

export type Step = string | number;
export type Path = readonly Step[];

const NAME = /[\p{L}\p{N}_$-]+/uy;
const INDEX = /\[(\d+)\]/y;
const QUOTED = /\[("(?:\\.|[^"\\])*")\]/y;

/** Parses a complete path. The `usage` error gives the position of the first invalid character. */
export function parsePath(text: string): Path {
  if (text === ".") return [];
  const path: Step[] = [];
  let at = 0;
  while (at < text.length) {
    const isFirst = path.length === 0;
    const found = bracketAt(text, at) ?? nameAt(text, isFirst ? at : at + 1, isFirst || text[at] === ".");
    if (found === undefined) throw unreadable(text, at);
    path.push(found.step);
    at = found.end;
  }
  if (path.length === 0) throw unreadable(text, 0);
  return path;
}

type Found = { readonly step: Step; readonly end: number };

function nameAt(text: string, at: number, isAllowed: boolean): Found | undefined {
  NAME.lastIndex = at;
  const name = isAllowed ? NAME.exec(text)?.[0] : undefined;
  return name === undefined ? undefined : { step: name, end: at + name.length };
}

function bracketAt(text: string, at: number): Found | undefined {
  INDEX.lastIndex = at;
  const index = INDEX.exec(text);
  if (index) return { step: Number(index[1]), end: INDEX.lastIndex };
  QUOTED.lastIndex = at;
  const quoted = QUOTED.exec(text);
  const key = tryTo((): Step => JSON.parse(quoted?.[1] ?? "")); // undefined for invalid syntax, such as a line break
  return quoted === null || key === undefined ? undefined : { step: key, end: QUOTED.lastIndex };
}

function unreadable(text: string, at: number): RedriveError {
  return new RedriveError("usage", `The path "${text}" is invalid at character ${at + 1}.`, {
    hint: 'Valid paths: user.tags[0], ["an odd key"].x, or . for all data.',
  });
}

export function pathText(path: Path): string {
  if (path.length === 0) return ".";
  return path.map((step, index) => stepText(step, index === 0)).join("");
}

function stepText(step: Step, isFirst: boolean): string {
  if (typeof step === "number") return `[${step}]`;
  if (!/^[\p{L}\p{N}_$-]+$/u.test(step)) return `[${JSON.stringify(step)}]`;
  return isFirst ? step : `.${step}`;
}

/** The new data, or the reason why the path does not fit the data. */
export type PathAnswer =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly message: string };

/** Creates missing (or null) objects and lists; a list grows by at most one element. */
export function setAtPath(data: Json, path: Path, value: Json): PathAnswer {
  return setFrom(data, { path, depth: 0, value });
}

type Setting = { readonly path: Path; readonly depth: number; readonly value: Json };

function setFrom(data: Json, setting: Setting): PathAnswer {
  const step = setting.path[setting.depth];
  if (step === undefined) return { ok: true, value: setting.value };
  return typeof step === "number" ? setInList(data, step, setting) : setInObject(data, step, setting);
}

function setInObject(data: Json, name: string, setting: Setting): PathAnswer {
  const object = data ?? {};
  if (!isJsonObject(object)) return mismatch(data, "an object", setting);
  const inner = setFrom(Object.hasOwn(object, name) ? (object[name] ?? null) : null, deeper(setting));
  return inner.ok ? { ok: true, value: { ...object, [name]: inner.value } } : inner;
}

function setInList(data: Json, index: number, setting: Setting): PathAnswer {
  const list: unknown = data ?? [];
  if (!isList(list)) return mismatch(data, "a list", setting);
  if (index > list.length) {
    const where = pathText(setting.path.slice(0, setting.depth));
    const message = `the list at ${where} has ${list.length} entries, so there is no [${index}]`;
    return { ok: false, message };
  }
  const inner = setFrom(list[index] ?? null, deeper(setting));
  return inner.ok ? { ok: true, value: Object.assign([...list], { [index]: inner.value }) } : inner;
}

function deeper(setting: Setting): Setting {
  return { ...setting, depth: setting.depth + 1 };
}

function isList(value: unknown): value is readonly Json[] {
  return Array.isArray(value);
}

function mismatch(data: Json, wanted: string, { path, depth }: Setting): PathAnswer {
  const kind = isList(data) ? "a list" : isJsonObject(data) ? "an object" : `a ${typeof data}`;
  const where = depth === 0 ? "the data" : pathText(path.slice(0, depth));
  return { ok: false, message: `${where} is ${kind}, not ${wanted}` };
}
