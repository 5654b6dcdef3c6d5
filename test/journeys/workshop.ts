/**
 * The fixture of a journey: a new folder with a home for the command line, a ledger that the commands write, and
 * helpers to read both. It is removed at the end of its test.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { randomName } from "../../src/std/random.ts";
import { type CliOptions, type CliResult, type RunningCli, redrive, startRedrive } from "../support/cli.ts";
import { dropSchema, postgresUrl } from "../support/postgres-stores.ts";
import { until } from "../support/until.ts";

export type Summary = {
  readonly job_id: string;
  readonly name: string;
  readonly status: string;
  readonly total: number;
  readonly succeeded: number;
  readonly dead: number;
  readonly skipped: number;
  readonly remaining: number;
  readonly attempts: number;
  readonly duration_ms: number;
  readonly groups: readonly {
    readonly signature: string;
    readonly pattern: string;
    readonly count: number;
  }[];
};

export type FailureJson = {
  readonly attempt_number: number;
  readonly timestamp: string;
  readonly error_type: unknown;
  readonly error_class: string;
  readonly error_message: string;
  readonly error_context?: readonly string[];
  readonly step_failed: string;
  readonly agent_id: string;
  readonly duration_ms: number;
  readonly exit_code?: number;
  readonly signal?: string;
  readonly stdout_tail?: string;
  readonly stderr_tail?: string;
  readonly log?: string;
  readonly evidence?: readonly {
    readonly path: string;
    readonly sha256?: string;
    readonly bytes?: number;
    readonly media_type?: string;
    readonly host?: string;
    readonly missing?: boolean;
    readonly kept?: string;
    readonly problem?: string;
  }[];
  readonly source?: Readonly<Record<string, string>>;
};

export type LetterJson = {
  readonly item_id: string;
  readonly item_data: unknown;
  readonly failure_count: number;
  readonly failure_history: readonly FailureJson[];
  readonly error_signature: string;
  readonly error_pattern: string;
  readonly reprocess_eligible: boolean;
  readonly manual_review_required: boolean;
  readonly job_id: string;
  readonly state: string;
  readonly reason: string;
  readonly redrive_count: number;
};

export type LetterPageJson = {
  readonly items: readonly LetterJson[];
  readonly total: number;
  readonly next: string | null;
};

export type EventJson = {
  readonly id: number;
  readonly at: string;
  readonly type: string;
  readonly job_id?: string;
  readonly item_id?: string;
  readonly attempt?: number;
  readonly data?: Readonly<Record<string, unknown>>;
};

export type OperationJson = {
  readonly operation_id: string | null;
  readonly selected: number;
  readonly redriven: number;
  readonly refused: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly remaining: number;
};

export type ErrorJson = {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string };
};

/** With `REDRIVE_TEST_STORE=postgres` every journey runs on PostgreSQL; those of the store's file are skipped. */
export const ON_POSTGRES = process.env.REDRIVE_TEST_STORE === "postgres";

/** A workshop for the calling test. Its store is a file by default. */
export function openWorkshop({ onPostgres = ON_POSTGRES } = {}): Workshop {
  return new Workshop(newHome(), { onPostgres });
}

/** A folder that is removed at the end of the test. */
export function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), "redrive-journey-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** A schema on the server that is removed at the end of the test. */
export function newPostgresStore(): { readonly schema: string; readonly url: string } {
  const schema = `journey_${randomName(10)}`;
  onTestFinished(() => dropSchema(schema));
  return { schema, url: postgresUrl(schema) };
}

type Options = Partial<CliOptions>;

export class Workshop {
  readonly home: string;
  readonly ledgerPath: string;
  /** The value for `--store`. */
  readonly storeUrl: string;
  readonly isOnPostgres: boolean;

  constructor(home: string, { onPostgres = ON_POSTGRES } = {}) {
    this.home = home;
    this.ledgerPath = join(home, "ledger");
    this.isOnPostgres = onPostgres;
    this.storeUrl = onPostgres ? newPostgresStore().url : `sqlite:${this.storePath}`;
  }

  /** The store's file, if it is one. */
  get storePath(): string {
    return join(this.home, "redrive", "redrive.db");
  }

  /** The environment of the command line. */
  get env(): Readonly<Record<string, string>> {
    return {
      PATH: process.env.PATH ?? "",
      REDRIVE_HOME: this.path("redrive"),
      ...(this.isOnPostgres && { REDRIVE_STORE: this.storeUrl }),
    };
  }

  path(name: string): string {
    return join(this.home, name);
  }

  write(name: string, content: string | Uint8Array): string {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    writeFileSync(this.path(name), content);
    return this.path(name);
  }

  read(name: string): string {
    return existsSync(this.path(name)) ? readFileSync(this.path(name), "utf8") : "";
  }

  lines(name: string): string[] {
    return this.read(name).split("\n").slice(0, -1);
  }

  /** The lines that the commands wrote to the ledger. */
  get ledger(): string[] {
    return this.lines("ledger");
  }

  run(args: readonly string[], options: Options = {}): Promise<CliResult> {
    return redrive(args, this.#with(options));
  }

  start(args: readonly string[], options: Options = {}): RunningCli {
    const running = startRedrive(args, this.#with(options));
    onTestFinished(() => running.signal("SIGKILL"));
    return running;
  }

  #with(options: Options): CliOptions {
    return { home: this.home, ...options, env: { ...this.env, ...options.env } };
  }

  /** Runs `map` over lines with a shell script whose `$1` is the item and `$L` the ledger. */
  map(items: readonly unknown[], script: string, flags: readonly string[] = []): Promise<CliResult> {
    return this.run(this.mapArgs(script, flags), { stdin: asJsonLines(items) });
  }

  /** The arguments of `map` for a shell script. */
  mapArgs(script: string, flags: readonly string[] = []): string[] {
    return [
      "map",
      "--format",
      "jsonl",
      ...flags,
      "--",
      "sh",
      "-c",
      `L=${this.ledgerPath}; ${script}`,
      "sh",
      "{}",
    ];
  }

  /** Like `map`, with `--json`. */
  async mapJson(items: readonly unknown[], script: string, flags: readonly string[] = []): Promise<Summary> {
    return (await this.map(items, script, ["--json", ...flags])).json<Summary>();
  }

  async json<T>(...args: string[]): Promise<T> {
    return (await this.run([...args, "--json"])).json<T>();
  }

  async letters(...flags: string[]): Promise<readonly LetterJson[]> {
    return (await this.json<LetterPageJson>("dlq", "list", "--limit", "1000", ...flags)).items;
  }

  async events(...flags: string[]): Promise<readonly EventJson[]> {
    return (await this.json<{ events: readonly EventJson[] }>("events", ...flags)).events;
  }

  /** Runs `store check`; every journey that damages or kills ends with it. */
  async check(): Promise<string> {
    return (await this.run(["store", "check"])).stdout;
  }

  untilLedger(what: string, condition: (lines: readonly string[]) => boolean): Promise<void> {
    return until(`the ledger: ${what}`, () => condition(this.ledger));
  }
}

/** The output of `store check` for a sound store. */
export const SOUND = "The store is sound: nothing is damaged, and every invariant holds.\n";

export function asJsonLines(items: readonly unknown[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join("");
}

/** 1 to n, as numbers. */
export function upTo(n: number): number[] {
  return Array.from({ length: n }, (_, index) => index + 1);
}

/** Whether a process with this pid exists and has not ended. */
export function isAlive(pid: number): boolean {
  try {
    const state = execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
    return !/^[ZX]/.test(state.trim());
  } catch {
    return false; // ps fails when there is no such process
  }
}
