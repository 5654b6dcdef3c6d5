/** Finds the native launcher: beside the built library, or in dist/ when the code runs from its source. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** What the binary prints for `--version`. It changes with the frames. */
const PROTOCOL = "redrive-launcher 1";
const FOLDERS_MAX = 4;

/** Its path, or undefined when there is none for this machine. */
export function findLauncherBinary(from: string = import.meta.url): string | undefined {
  const name = join("launcher", `${process.platform}-${process.arch}`, "redrive-launcher");
  let folder = dirname(fileURLToPath(from));
  for (let level = 0; level < FOLDERS_MAX; level++) {
    const found = [join(folder, name), join(folder, "dist", name)].find((path) => existsSync(path));
    if (found) return found;
    folder = dirname(folder);
  }
  return undefined;
}

/** True when the binary can be run here and speaks our protocol. */
export function runsHere(binary: string): boolean {
  const answer = spawnSync(binary, ["--version"], { encoding: "utf8", timeout: 10_000 });
  return answer.status === 0 && answer.stdout.trim() === PROTOCOL;
}
