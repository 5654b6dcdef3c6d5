/**
 * The native launcher: requests go to one small process that starts the commands, ends come back as frames. When
 * that process dies, its launches end with ELAUNCHER and the next launch starts another.
 */
import { LAUNCHER_LOST, type Launched, type Launcher, type LaunchSpec, notStarted } from "./launch.ts";
import { LauncherProcess } from "./launcher-process.ts";

export function openNativeLauncher(binary: string): Launcher {
  return new NativeLauncher(binary);
}

class NativeLauncher implements Launcher {
  readonly kind = "native";
  readonly #binary: string;
  #process: LauncherProcess | undefined;

  constructor(binary: string) {
    this.#binary = binary;
  }

  launch(spec: LaunchSpec): Launched {
    try {
      if (!this.#process?.usable) this.#process = new LauncherProcess(this.#binary);
    } catch (error) {
      return { ended: Promise.resolve(notStarted(codeOf(error), "runner")), end: async () => undefined };
    }
    return this.#process.launch(spec);
  }

  async close(): Promise<void> {
    const closing = this.#process;
    this.#process = undefined;
    await closing?.close();
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : LAUNCHER_LOST;
}
