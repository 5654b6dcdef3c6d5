/** Adds argument checks to functions and methods of the library: invalid arguments are a `usage` error before the call. */
import type * as z from "zod";
import { checkInput } from "../../std/check-input.ts";

/** The schema of each argument by its name, in order. */
export type ArgumentSchemas = Readonly<Record<string, z.ZodType>>;

/** Wraps an asynchronous function. Invalid arguments reject with the error. */
export function checked<Arguments extends unknown[], Result>(
  caller: string,
  call: (...given: Arguments) => Promise<Result>,
  schemas: ArgumentSchemas,
): (...given: Arguments) => Promise<Result> {
  return async function (this: unknown, ...given) {
    checkArguments(given, caller, schemas);
    return call.apply(this, given);
  };
}

/** Wraps a synchronous function. Invalid arguments throw the error. */
export function checkedNow<Arguments extends unknown[], Result>(
  caller: string,
  call: (...given: Arguments) => Result,
  schemas: ArgumentSchemas,
): (...given: Arguments) => Result {
  return function (this: unknown, ...given) {
    checkArguments(given, caller, schemas);
    return call.apply(this, given);
  };
}

/** Replaces asynchronous methods of a class by checked ones. */
export function checkMethods<T extends object>(
  { prototype }: { readonly prototype: T },
  owner: string,
  methods: { readonly [Key in keyof T & string]?: ArgumentSchemas },
): void {
  for (const [name, schemas] of Object.entries(methods) as [keyof T & string, ArgumentSchemas][]) {
    const method = prototype[name] as (...given: readonly unknown[]) => Promise<unknown>;
    const value = checked(`${owner}${name}`, method, schemas);
    Object.defineProperty(prototype, name, { value, writable: true, configurable: true });
  }
}

export function checkArguments(given: readonly unknown[], caller: string, schemas: ArgumentSchemas): void {
  for (const [index, [name, schema]] of Object.entries(schemas).entries())
    checkInput(schema, given[index], { caller, name });
}
