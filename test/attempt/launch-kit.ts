/** What the tests of launching share: a folder of their own, specs with defaults, and a look at real processes. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { buildLauncher } from "../../scripts/build-launcher.mjs";
import type { Launcher, LaunchSpec } from "../../src/attempt/launch.ts";
import { openLauncher } from "../../src/attempt/launcher.ts";
import { listProcesses } from "../../src/attempt/process-list.ts";

export type Kind = "native" | "spawn";

/** Without a C compiler there is no native launcher to test. */
export const KINDS: readonly Kind[] = buildLauncher() ? ["native", "spawn"] : ["spawn"];

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "redrive-launch-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function launcherOf(kind: Kind): Launcher {
  const launcher = openLauncher({ kind });
  onTestFinished(() => launcher.close());
  return launcher;
}

/** `sh -c script` unless the rest says otherwise. */
export function specOf(folder: string, script: string, rest: Partial<LaunchSpec> = {}): LaunchSpec {
  return {
    argv: ["sh", "-c", script],
    cwd: folder,
    env: {},
    stdin: "",
    stdoutPath: join(folder, "out"),
    stderrPath: join(folder, "err"),
    ...rest,
  };
}

/** `node -e script`. */
export function nodeSpec(folder: string, script: string, rest: Partial<LaunchSpec> = {}): LaunchSpec {
  return specOf(folder, "", { argv: [process.execPath, "-e", script], ...rest });
}

export function isAlive(pid: number): boolean {
  return listProcesses().some((entry) => entry.pid === pid);
}

/** The process id that a script has written to a file, as soon as it is there. */
export function pidIn(path: string): Promise<number> {
  return eventually(() => {
    const pid = existsSync(path) ? Number.parseInt(readFileSync(path, "utf8"), 10) : Number.NaN;
    if (Number.isNaN(pid)) throw new Error(`no process id in ${path} yet`);
    return pid;
  });
}

/** Waits until the check passes. */
export function eventually<T>(check: () => T): Promise<T> {
  return vi.waitFor(check, { timeout: 30_000, interval: 10 });
}
