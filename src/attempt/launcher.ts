/** Opens the launcher of a runner: the native one when its binary exists and runs, otherwise Node itself. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { RedriveError } from "../errors.ts";
import { findBuiltFile } from "../std/built-file.ts";
import type { Launcher } from "./launch.ts";
import { openNativeLauncher } from "./native-launcher.ts";
import { openSpawnLauncher } from "./spawn-launcher.ts";

export interface LauncherOptions {
  /** Default: `REDRIVE_LAUNCHER` (`native`, `spawn` or the path of a binary), else native if it runs, else spawn. */
  readonly kind?: "native" | "spawn";
}

export function openLauncher(options: LauncherOptions = {}): Launcher {
  const wanted = options.kind ?? process.env.REDRIVE_LAUNCHER ?? "";
  if (wanted === "spawn") return openSpawnLauncher();
  const path = wanted === "" || wanted === "native" ? findLauncherBinary() : wanted;
  if (path && runsHere(path)) return openNativeLauncher(path);
  if (wanted === "") return openSpawnLauncher();
  const message = `The native launcher cannot be used: ${path ?? "its binary"} is missing or does not run.`;
  const hint = "Build it with `npm run build` (it needs a C compiler), or set REDRIVE_LAUNCHER=spawn.";
  throw new RedriveError("usage", message, { hint });
}

/** The expected output of `--version`. It changes with the protocol. */
const PROTOCOL = "redrive-launcher 3";

export function findLauncherBinary(from: string = import.meta.url): string | undefined {
  return findBuiltFile(join("launcher", `${process.platform}-${process.arch}`, "redrive-launcher"), from);
}

/** Whether the binary runs on this machine and has the right protocol. */
export function runsHere(binary: string): boolean {
  const answer = spawnSync(binary, ["--version"], { encoding: "utf8", timeout: 10_000 });
  return answer.status === 0 && answer.stdout.trim() === PROTOCOL;
}
