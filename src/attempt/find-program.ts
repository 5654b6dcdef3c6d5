/** Finds out before anything is run whether a program is installed. It starts nothing. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

export interface ProgramPlace {
  /** Where a relative path begins. */
  readonly cwd: string;
  /** Default: the PATH of this process. */
  readonly path?: string;
}

/** Whether there is an executable file for the first word of a command. */
export function isInstalled(program: string, { cwd, path = process.env.PATH ?? "" }: ProgramPlace): boolean {
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
    return false; // not there or not executable: both mean "look further"
  }
}
