/** Numbers on the command line: read strictly, refused with the name of the option. */
import { WorkError } from "../errors.ts";

/** A whole number of at least `min`; undefined when the option was not given. */
export function countOption(name: string, text: string | undefined, min: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new WorkError("usage", `${name}: "${text}" is not a whole number of at least ${min}.`);
}

/** A share from 0 to 1. */
export function rateOption(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 0 && value <= 1) return value;
  throw new WorkError("usage", `${name}: "${text}" is not a share from 0 to 1, such as 0.2.`);
}

/** A path that was given as nothing is not the folder that one is in. */
export function requirePath(name: string, path: string): string {
  if (path !== "") return path;
  throw new WorkError("usage", `${name} is empty.`, { hint: "Is a variable of the shell not set?" });
}

/** A text that says something. */
export function requireText(name: string, text: string): string {
  if (text.trim() !== "") return text.trim();
  throw new WorkError("usage", `${name}: the text is empty.`);
}
