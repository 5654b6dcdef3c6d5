/** An environment in which examples run as for a newcomer: `redrive` on the PATH, its own home and folder. */
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const ROOT = join(import.meta.dirname, "../..");
const PROGRAM = join(ROOT, "dist/cli/main.cjs");

export interface ShellResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class ExampleShell {
  readonly #directory = new TemporaryDirectory();
  readonly #env: NodeJS.ProcessEnv;
  /** The folder that scripts run in. */
  readonly folder: string;
  /** `REDRIVE_HOME`. */
  readonly home: string;

  constructor() {
    const bin = join(this.#directory.path, "bin");
    this.folder = join(this.#directory.path, "work");
    this.home = join(this.#directory.path, "home");
    mkdirSync(bin);
    mkdirSync(this.folder);
    writeFileSync(join(bin, "redrive"), `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`);
    chmodSync(join(bin, "redrive"), 0o755);
    this.#env = {
      ...process.env,
      PATH: [bin, process.env.PATH].join(delimiter),
      REDRIVE_HOME: this.home,
      REDRIVE_STORE: "",
      REDRIVE_CONFIG: "",
      REDRIVE_AUTHOR: "ana@example.com",
      NO_COLOR: "1",
      LC_ALL: "C.UTF-8",
      TERM: "xterm",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_AUTHOR_NAME: "A Reader",
      GIT_AUTHOR_EMAIL: "reader@example.com",
      GIT_COMMITTER_NAME: "A Reader",
      GIT_COMMITTER_EMAIL: "reader@example.com",
    };
  }

  /** Puts a copy of an example's folder into the shell's folder, by its own name or another. */
  copy(example: string, name: string = example): string {
    const target = join(this.folder, name);
    cpSync(join(ROOT, "examples", example), target, { recursive: true });
    return target;
  }

  /**
   * Runs a script with `sh` and a closed stdin. Errors and output have the order in which a terminal shows them.
   */
  run(script: string, folder: string = this.folder): ShellResult {
    const result = spawnSync("sh", ["-c", script], {
      cwd: folder,
      env: this.#env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 100_000,
    });
    return { exitCode: result.status, stdout: result.stdout, stderr: result.stderr };
  }

  remove(): void {
    this.#directory.remove();
  }
}
