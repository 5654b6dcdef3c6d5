/**
 * Opens the launcher that starts every command of a runner: the native one, a small process of its own, when its
 * binary is there and runs, otherwise Node itself. `launch.ts` has the contract.
 */
import { WorkError } from "../errors.ts";
import type { Launcher } from "./launch.ts";
import { findLauncherBinary, runsHere } from "./launcher-binary.ts";
import { openNativeLauncher } from "./native-launcher.ts";
import { openSpawnLauncher } from "./spawn-launcher.ts";

export type { Captured, Ended, Launched, Launcher, LaunchSpec, StartStage } from "./launch.ts";

export interface LauncherOptions {
  /** Default: `REDRIVE_LAUNCHER` (`native`, `spawn` or the path of a binary), else native if it runs, else spawn. */
  readonly kind?: "native" | "spawn";
}

export function openLauncher(options: LauncherOptions = {}): Launcher {
  const wish = options.kind ?? process.env.REDRIVE_LAUNCHER ?? "";
  if (wish === "spawn") return openSpawnLauncher();
  const path = wish === "" || wish === "native" ? findLauncherBinary() : wish;
  if (path && runsHere(path)) return openNativeLauncher(path);
  if (wish === "") return openSpawnLauncher();
  throw new WorkError(
    "usage",
    `The native launcher cannot be used: ${path ?? "its binary"} is missing or does not run.`,
    {
      hint: "Build it with `npm run build` (it needs a C compiler), or set REDRIVE_LAUNCHER=spawn.",
    },
  );
}
