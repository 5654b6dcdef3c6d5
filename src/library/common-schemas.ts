/** Schemas shared by the argument checks of the library. */
import * as z from "zod";
import type { Engine } from "../engine.ts";
import { ERROR_CLASSES, ERROR_TYPE_NAMES } from "../item/error-type.ts";
import type { Job } from "../item/job.ts";
import type { Operation } from "../item/operation.ts";
import type { Rate } from "../item/rate.ts";
import type { ClassRule, ClassRuleMatch } from "../retry/class-rule.ts";
import type { Clock } from "../std/clock.ts";
import type { GroupRule, GroupRuleMatch } from "../triage/grouping.ts";
import { jsonProblem } from "./json-data.ts";

/** One schema per key, so that a new key of the type does not compile until it has a schema. */
type Shape<T> = { readonly [Key in keyof Required<T>]: z.ZodType };

/** An object with exactly these keys. */
export function objectOf<T extends object>(shape: Shape<T>): z.ZodType<T> {
  return z.strictObject(shape) as unknown as z.ZodType<T>;
}

export function anyThat(test: (value: unknown) => boolean, what: string) {
  return z.custom<unknown>(test, { error: `expected ${what}` });
}

export const text = z.string({ error: "expected a text" });
/** A name or an id. An empty one could match nothing or everything. */
export const name = text.min(1, { error: "expected a text that is not empty" });
export const texts = z.array(text, { error: "expected a list of texts" });
export const flag = z.boolean({ error: "expected true or false" });
/** Excludes NaN and infinity. */
export const number = z.number({ error: "expected a number" });
/** May be Infinity. */
export const durationMs = anyThat(
  (value) => typeof value === "number" && value >= 0,
  "a number of milliseconds",
);
export const count = wholeNumber(0, Number.MAX_SAFE_INTEGER);
/** For example a concurrency or a page size. */
export const positive = wholeNumber(1, Number.MAX_SAFE_INTEGER);
/** Excludes `Date` on purpose: all times of the library are numbers. */
export const time = anyThat(
  (value) => typeof value === "number" && Number.isSafeInteger(Math.round(value)),
  "milliseconds since the epoch, such as Date.now() or date.getTime()",
);
export const callback = anyThat((value) => typeof value === "function", "a function");
export const json = anyThat((value) => jsonProblem(value) === undefined, "data that JSON can represent");
export const signal = anyThat((value) => value instanceof AbortSignal, "an AbortSignal");
export const store = anyThat((value) => hasMethods<Engine>(value, "add", "listLetters"), "an open store");
export const clock = anyThat((value) => hasMethods<Clock>(value, "now", "sleep"), "a clock");
export const job = anyThat((value) => hasTexts<Job>(value, "id", "kind"), "a job of the store");
export const operation = anyThat(
  (value) => hasTexts<Operation>(value, "id", "kind"),
  "an operation of the store",
);
export const asyncList = anyThat(
  (value) => typeof value === "object" && value !== null && Symbol.asyncIterator in value,
  "an async iterable of letters",
);
/** Streams, environments, letters and other objects that are not checked further. */
export const thing = anyThat((value) => typeof value === "object" && value !== null, "an object");

export function wholeNumber(min: number, max: number) {
  const bounds = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  const error = `expected a whole number ${bounds}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

export function oneOf<Word extends string>(words: readonly Word[]) {
  return z.enum(words as readonly [Word, ...Word[]]);
}

export function listOf(schema: z.ZodType) {
  return z.array(schema, { error: "expected a list" });
}

export const rate: z.ZodType<Rate> = objectOf<Rate>({
  perSecond: anyThat((value) => typeof value === "number" && value > 0, "a number above 0"),
});
export const errorTypeName = oneOf(ERROR_TYPE_NAMES);
export const errorClass = oneOf(ERROR_CLASSES);
export const groupRules = listOf(
  objectOf<GroupRule>({
    name,
    match: objectOf<GroupRuleMatch>({
      types: listOf(errorTypeName).optional(),
      classes: listOf(errorClass).optional(),
      steps: texts.optional(),
      text: text.optional(),
      pattern: text.optional(),
    }),
  }),
);

export const classRules = listOf(
  objectOf<ClassRule>({
    match: objectOf<ClassRuleMatch>({
      types: listOf(errorTypeName).optional(),
      exitCodes: listOf(count).optional(),
      steps: texts.optional(),
      text: text.optional(),
      pattern: text.optional(),
    }),
    type: errorTypeName.optional(),
    class: errorClass.optional(),
  }),
);

function hasMethods<T>(value: unknown, ...names: readonly (keyof T & string)[]): boolean {
  return hasAll(value, names, "function");
}

function hasTexts<T>(value: unknown, ...names: readonly (keyof T & string)[]): boolean {
  return hasAll(value, names, "string");
}

function hasAll(value: unknown, names: readonly string[], kind: "function" | "string"): boolean {
  if (typeof value !== "object" || value === null) return false;
  return names.every((key) => typeof (value as Record<string, unknown>)[key] === kind);
}
