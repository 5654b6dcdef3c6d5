/** Finds and loads `redrive.yml`. Without a file the defaults apply, and no YAML parser is loaded. */
import { accessSync, constants, existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { RedriveError } from "../errors.ts";
import { readText as readTextFile } from "../std/files.ts";
import { messageOf } from "../std/thrown.ts";
import { homeOf } from "../store/home.ts";
import { type Config, DEFAULT_CONFIG } from "./settings.ts";

/** Loads the settings. An invalid file is a usage error with every problem and its line. */
export async function loadConfig(where: WhereToLook): Promise<Config> {
  const file = findConfigFile(where);
  if (file === null) return DEFAULT_CONFIG;
  const text = readText(file.path, file.wanted);
  if (text === null) return DEFAULT_CONFIG;
  const { readConfig } = await import("./read-config.ts");
  return readConfig(text, file.path);
}

/** Returns null if a file is removed after it was found. A file named by the user must exist. */
function readText(path: string, isWanted: boolean): string | null {
  try {
    return readTextFile(path);
  } catch (error) {
    if (!isWanted && (error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw unreadable(path, error);
  }
}

export const CONFIG_NAME = "redrive.yml";

export type WhereToLook = { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly file?: string };

export interface ConfigFile {
  readonly path: string;
  /** Whether the user named the file; it must then exist. */
  readonly wanted: boolean;
}

/** Searches `--config`, `REDRIVE_CONFIG`, the nearest file in this or a parent folder, and `REDRIVE_HOME`, in this order. */
export function findConfigFile({ cwd, env, file }: WhereToLook): ConfigFile | null {
  const named = file || env.REDRIVE_CONFIG;
  if (named) return { path: resolve(cwd, named), wanted: true };
  const around = nearestAbove(cwd, env.HOME || homedir());
  if (around !== null) return { path: around, wanted: false };
  const atHome = join(homeOf(env), CONFIG_NAME);
  return existsSync(atHome) ? { path: atHome, wanted: false } : null;
}

/** Throws if a file that the user named is missing, even for commands that read no settings. */
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

export function unreadable(path: string, error: unknown): RedriveError {
  const reason = messageOf(error);
  return new RedriveError("usage", `The settings ${path} cannot be read: ${reason}.`, {
    cause: error,
    hint: "Set --config or REDRIVE_CONFIG to an existing file, or omit both.",
  });
}

/** Stops at the git top level or the user's home, because files above may belong to another user or project. */
function nearestAbove(cwd: string, userHome: string): string | null {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const path = join(folder, CONFIG_NAME);
    if (existsSync(path)) return path;
    const isLast = folder === dirname(folder) || folder === resolve(userHome);
    if (isLast || existsSync(join(folder, ".git"))) return null;
  }
}
