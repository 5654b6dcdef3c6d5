/**
 * Adds argument checks to library functions. Asynchronous functions reject with the error; synchronous ones
 * throw it.
 */
import type * as z from "zod";
import { checkInput } from "./check-input.ts";

/** The name and schema of each argument, in order. */
export type ArgumentSchemas = readonly (readonly [name: string, schema: z.ZodType])[];

/** Wraps an asynchronous function: invalid arguments reject with `usage` before the call. */
export function checked<Arguments extends readonly unknown[], Result>(
  call: (...given: Arguments) => Promise<Result>,
  caller: string,
  schemas: ArgumentSchemas,
): (...given: Arguments) => Promise<Result> {
  return async (...given) => {
    checkArguments(given, caller, schemas);
    return call(...given);
  };
}

/** Wraps a synchronous function: invalid arguments throw `usage` before the call. */
export function checkedNow<Arguments extends readonly unknown[], Result>(
  call: (...given: Arguments) => Result,
  caller: string,
  schemas: ArgumentSchemas,
): (...given: Arguments) => Result {
  return (...given) => {
    checkArguments(given, caller, schemas);
    return call(...given);
  };
}

function checkArguments(given: readonly unknown[], caller: string, schemas: ArgumentSchemas): void {
  schemas.forEach(([name, schema], index) => {
    checkInput(schema, given[index], { caller, name });
  });
}
