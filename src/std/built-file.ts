/** Finds files that the build adds to the package. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDERS_MAX = 4;

/** Searches next to the built library, or in dist/ when the code runs from source. */
export function findBuiltFile(name: string, from: string): string | undefined {
  let folder = dirname(fileURLToPath(from));
  for (let level = 0; level < FOLDERS_MAX; level++) {
    const found = [join(folder, name), join(folder, "dist", name)].find((path) => existsSync(path));
    if (found) return found;
    folder = dirname(folder);
  }
  return undefined;
}
