/** Loads packages that are installed only by those who use them. */
import { RedriveError } from "../errors.ts";
import { codeOf } from "./thrown.ts";

const MISSING = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"];

/** Throws a `usage` error when the package is not installed. `user` is what needs it, with the verb: "MCP needs". */
export async function loadOptional<T>(name: string, user: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (!MISSING.includes(codeOf(error) ?? "")) throw error;
    throw new RedriveError("usage", `${user} the package ${name}, which is not installed.`, {
      hint: `Install it alongside redrive: \`npm install ${name}\` (with -g if redrive is installed globally).`,
      cause: error,
    });
  }
}
