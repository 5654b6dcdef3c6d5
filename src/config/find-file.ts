/** Where `redrive.yml` is: the one that is named, else the nearest one around the user, else the one in the home. */
import { accessSync, constants, existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { WorkError } from "../errors.ts";
import { homeOf } from "../job/home.ts";

/** How the file of settings is called. */
export const CONFIG_NAME = "redrive.yml";

export interface WhereToLook {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** `--config`. */
  readonly file?: string;
}

export interface ConfigFile {
  readonly path: string;
  /** It was named: it has to be there. */
  readonly wanted: boolean;
}

/** `--config`, else `REDRIVE_CONFIG`, else the nearest one from here upward, else the one in `REDRIVE_HOME`; else null. */
export function findConfigFile({ cwd, env, file }: WhereToLook): ConfigFile | null {
  const named = file || env.REDRIVE_CONFIG;
  if (named) return { path: resolve(cwd, named), wanted: true };
  const around = nearestAbove(cwd, env.HOME || homedir());
  if (around !== null) return { path: around, wanted: false };
  const atHome = join(homeOf(env), CONFIG_NAME);
  return existsSync(atHome) ? { path: atHome, wanted: false } : null;
}

/** A file that was named has to exist, also for a command that reads no settings. */
export function requireNamedFile(where: WhereToLook): void {
  if (!where.file && !where.env.REDRIVE_CONFIG) return;
  const found = findConfigFile(where);
  if (found === null) return;
  try {
    accessSync(found.path, constants.R_OK);
  } catch (error) {
    throw unreadable(found.path, error);
  }
}

/** The error for settings that cannot be read. */
export function unreadable(path: string, error: unknown): WorkError {
  const reason = error instanceof Error ? error.message : String(error);
  return new WorkError("usage", `The settings ${path} cannot be read: ${reason}.`, {
    cause: error,
    hint: "Give --config FILE, or set REDRIVE_CONFIG, to a file that exists, or leave both out.",
  });
}

/** Not beyond the project (its git top level) or the user's own folder: what is there belongs to somebody else. */
function nearestAbove(cwd: string, userHome: string): string | null {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const path = join(folder, CONFIG_NAME);
    if (existsSync(path)) return path;
    const isLast = folder === dirname(folder) || folder === resolve(userHome);
    if (isLast || existsSync(join(folder, ".git"))) return null;
  }
}
