/** Starts CLI commands with their own home and kills them with -9 at random moments. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CLI } from "./crowd.mjs";

/** The assumed duration of a command before one has ended. */
const FIRST_GUESS_MS = 3000;
const GUESS_MS_MIN = 200;

export class KilledCommands {
  home;
  /** The number of kills of running commands, by command. */
  hits = {};
  violations = [];
  #chance;
  #guessMs = {};

  constructor(chance, name) {
    this.#chance = chance;
    this.home = mkdtempSync(join(tmpdir(), `redrive-${name}-`));
  }

  get strikes() {
    return Object.values(this.hits).reduce((sum, count) => sum + count, 0);
  }

  /**
   * Kills the command `kills` times at random moments, then lets it end. `onKilled` checks the state after each kill. The
   * last run must exit with 0.
   */
  async killThenRun(what, words, { kills, onKilled = async () => undefined, cli }) {
    for (let kill = 0; kill < kills; kill += 1) {
      const began = performance.now();
      const child = this.#spawn(words, "ignore", cli);
      const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
      const guessMs = this.#guessMs[what] ?? FIRST_GUESS_MS;
      await Promise.race([ended, sleep(guessMs * (0.1 + 0.9 * this.#chance.random()))]);
      child.kill("SIGKILL");
      const { code, signal } = await ended;
      if (signal === "SIGKILL") this.hits[what] = (this.hits[what] ?? 0) + 1;
      else this.#guessMs[what] = Math.max(GUESS_MS_MIN, performance.now() - began);
      if (signal === null && code !== 0) this.violations.push(`${what} ended by itself with ${code}`);
      for (const problem of (await onKilled()) ?? [])
        this.violations.push(`after a killed ${what}: ${problem}`);
    }
    const { code, stdout, stderr } = await this.run(words, cli);
    if (code !== 0)
      this.violations.push(`the last ${what} ended with ${code}: ${(stderr || stdout).slice(-1000)}`);
    return stdout;
  }

  /** Runs a command to its end. */
  run(words, cli) {
    return new Promise((resolve, reject) => {
      const child = this.#spawn(words, "pipe", cli);
      const printed = { stdout: "", stderr: "" };
      child.stdout.on("data", (data) => (printed.stdout += data));
      child.stderr.on("data", (data) => (printed.stderr += data));
      child.once("error", reject);
      child.once("close", (code) => resolve({ code, ...printed }));
    });
  }

  /** The result of a torture run. The home is kept if there are violations. */
  report(figures) {
    if (this.violations.length === 0) rmSync(this.home, { recursive: true, force: true });
    return {
      violations: this.violations,
      figures: { strikes: this.strikes, ...figures },
      faults: this.hits,
      home: this.home,
    };
  }

  #spawn(words, output, cli = CLI) {
    const env = {
      ...process.env,
      REDRIVE_HOME: this.home,
      REDRIVE_STORE: "",
      REDRIVE_CONFIG: "",
      NO_COLOR: "1",
    };
    return spawn(process.execPath, [cli, ...words], {
      env,
      cwd: this.home,
      stdio: ["ignore", output, output],
    });
  }
}
