/** Functions of the library behind a check of their arguments. A function that answers with a promise rejects; the others throw. */
import type * as z from "zod";
import { checkInput } from "./check-input.ts";

/** The arguments in their order: the name of each, and what it has to be. */
export type ArgumentSchemas = readonly (readonly [name: string, schema: z.ZodType])[];

/** The same function, which rejects with a `usage` error before it does anything when an argument does not fit. */
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

/** The same for a function that answers at once. */
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
