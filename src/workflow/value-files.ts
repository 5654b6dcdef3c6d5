/** Values that are too large for the environment of a process, as files that only their owner can read. */
import { rmSync, writeFileSync } from "node:fs";
import { PRIVATE_FILE } from "../kit/private-files.ts";

/** The path of each file, under the name of the variable that holds it. */
export type ValueFiles = Readonly<Record<string, string>>;

/** Writes each value to a file whose path begins with `prefix`. It throws when the disk does not take one. */
export function writeValueFiles(values: Readonly<Record<string, string>>, prefix: string): ValueFiles {
  const paths: Record<string, string> = {};
  for (const [name, value] of Object.entries(values)) {
    const path = `${prefix}.${name}`;
    paths[name] = path;
    writeFileSync(path, value, { mode: PRIVATE_FILE });
  }
  return paths;
}

export function removeValueFiles(names: readonly string[], prefix: string): void {
  for (const name of names) rmSync(`${prefix}.${name}`, { force: true });
}
