/**
 * The settings of a person or a project, from `redrive.yml`. Where there is none, the defaults hold, and nothing that
 * reads YAML is loaded: a command pays for settings only when it asks for them and a file is there.
 */
import { readFileSync } from "node:fs";
import { findConfigFile, unreadable, type WhereToLook } from "./find-file.ts";
import { type Config, DEFAULT_CONFIG } from "./settings.ts";

export type { Config, LetterSettings } from "./settings.ts";

/** The settings that hold here. A file that is wrong is a usage error with every problem and its line. */
export async function loadConfig(where: WhereToLook): Promise<Config> {
  const file = findConfigFile(where);
  if (file === null) return DEFAULT_CONFIG;
  const text = readText(file.path, file.wanted);
  if (text === null) return DEFAULT_CONFIG;
  const { readConfig } = await import("./read-config.ts");
  return readConfig(text, file.path);
}

/** A file that was found by looking may be gone a moment later; one that was named must be there. */
function readText(path: string, isWanted: boolean): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (!isWanted && (error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw unreadable(path, error);
  }
}
