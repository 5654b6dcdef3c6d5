/** Checks whether a program is installed, without starting it. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

export interface ProgramSearch {
  /** The start of relative paths. */
  readonly cwd: string;
  /** Default: the PATH of this process. */
  readonly path?: string;
}

/** Whether an executable file exists for the first word of a command. */
export function isInstalled(program: string, { cwd, path = process.env.PATH ?? "" }: ProgramSearch): boolean {
  const folders = program.includes("/") ? [""] : path.split(delimiter);
  return folders
    .map((folder) => join(folder, program))
    .some((file) => isExecutable(isAbsolute(file) ? file : join(cwd, file)));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile(); // a folder has the x permission too
  } catch {
    return false; // missing or not executable
  }
}
