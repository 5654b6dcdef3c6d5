/** The context of a command: streams, environment, global options, the store, the settings, output, and questions. */
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { type ConfigFile, findConfigFile, type WhereToLook } from "../config/config.ts";
import type { Config } from "../config/settings.ts";
import type { Engine } from "../engine.ts";
import { type OpenOptions, openStore } from "../engines/open.ts";
import { isError, RedriveError } from "../errors.ts";
import { AssertionError } from "../std/assert.ts";
import { makePrivate } from "../std/files.ts";
import { stringifyJson } from "../std/json.ts";
import { authoredEngine } from "../store/authored-engine.ts";
import { homeOf, storeUrlOf } from "../store/home.ts";
import { damagedStore, EXIT } from "./exit-code.ts";
import { type Paint, paintFor } from "./render/text.ts";

export interface Terminal {
  readonly version: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly stdin: Readable;
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
}

export interface SharedOptions {
  readonly json?: boolean;
  readonly store?: string;
  readonly config?: string;
}

export interface StoreOptions extends OpenOptions {
  /** Creates a missing store. Default: the command uses an empty store in memory, and no file is created. */
  readonly creates?: boolean;
  /**
   * Whether the user of the command is the author of its changes. A server acts on behalf of others. Default
   * true.
   */
  readonly isAuthor?: boolean;
}

/** The time after which a slow opening of the store is reported. */
const SILENCE_MS_MAX = 1_000;

/** The data folders to make private. The home folder itself may have existed before and is not changed. */
const HOME_FOLDERS = ["logs", "dlq", "evidence", "worktrees"] as const;

export class Context {
  readonly terminal: Terminal;
  readonly isJson: boolean;
  readonly home: string;
  readonly storeUrl: string;
  readonly hasStoreOption: boolean;
  readonly words: readonly string[];
  /** Colours for stdout; `paintNotes` is for stderr. */
  readonly paint: Paint;
  readonly paintNotes: Paint;
  readonly #configFile: string | undefined;
  #config: Promise<Config> | undefined;
  #hasWaited = false;

  constructor(terminal: Terminal, options: SharedOptions, words: readonly string[] = []) {
    const { env, stdout, stderr } = terminal;
    this.terminal = terminal;
    this.isJson = options.json ?? false;
    this.home = homeOf(env);
    this.storeUrl = storeUrlOf(env, options.store);
    this.hasStoreOption = options.store !== undefined;
    this.words = words;
    this.#configFile = options.config;
    this.paint = paintFor({ isTty: stdout.isTTY ?? false, env });
    this.paintNotes = paintFor({ isTty: stderr.isTTY ?? false, env });
  }

  async withStore<T>(action: (engine: Engine) => Promise<T>, options: StoreOptions = {}): Promise<T> {
    const engine = await this.openStore(options);
    try {
      return await action(engine);
    } finally {
      await engine.close();
    }
  }

  /** Opens the store and reports a wait of more than a second with its reason. The caller must close the store. */
  async openStore({ creates = false, isAuthor = true, ...options }: StoreOptions = {}): Promise<Engine> {
    const onWait = (reason: string) => this.#reportWait(reason);
    const timer = setTimeout(() => onWait("it does not answer yet"), SILENCE_MS_MAX);
    try {
      const engine = await openStore(this.storeUrl, { onWait, ...options, mustExist: !creates });
      this.#keepPrivate(creates);
      return isAuthor ? authoredEngine(engine, this.author) : engine;
    } catch (error) {
      if (!isError(error, "input_invalid") || creates || options.mustExist) throw error;
      return await openStore("memory:", options);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Removes other users' access to files that an earlier version or another program made readable. */
  #keepPrivate(warns: boolean): void {
    const store = /^sqlite:(.+)$/.exec(this.storeUrl)?.[1];
    const paths = HOME_FOLDERS.map((name) => join(this.home, name));
    const open = [...paths, ...(store === undefined ? [] : [store])].filter((path) => !makePrivate(path));
    if (!warns || open.length === 0) return;
    this.note(`redrive: other users can read ${open.join(", ")}, and the permissions cannot be changed.`);
  }

  /** Replaces an error that looks like a bug if the store is damaged, because the code relies on the store's invariants. */
  async explain(error: unknown): Promise<unknown> {
    const isBug = [AssertionError, TypeError, RangeError, SyntaxError].some((kind) => error instanceof kind);
    const engine = isBug ? await this.openStore().catch(() => null) : null;
    if (engine === null) return error;
    const isSound = await engine.check().then(
      (problems) => problems.length === 0,
      () => false,
    );
    await engine.close();
    return isSound ? error : damagedStore("some of its rows cannot be read", error);
  }

  #reportWait(reason: string): void {
    if (!this.#hasWaited) this.note(`redrive: waiting for the store: ${reason}`);
    this.#hasWaited = true;
  }

  /** Reads the settings on first use, because many commands need none. */
  config(): Promise<Config> {
    this.#config ??= import("../config/config.ts").then(({ loadConfig }) => loadConfig(this.#whereToLook()));
    return this.#config;
  }

  /** Returns null if there is no settings file. */
  findConfig(): ConfigFile | null {
    return findConfigFile(this.#whereToLook());
  }

  #whereToLook(): WhereToLook {
    const { cwd, env } = this.terminal;
    return { cwd, env, ...(this.#configFile !== undefined && { file: this.#configFile }) };
  }

  get isTerminal(): boolean {
    return this.terminal.stdout.columns !== undefined;
  }

  /** The width of the terminal. Infinite if stdout is not a terminal, because output to files and programs is never cut. */
  get columns(): number {
    return this.terminal.stdout.columns ?? Number.POSITIVE_INFINITY;
  }

  /** Prints the result as one JSON document or as text. Commands print nothing else to stdout. */
  answer(document: object, text: () => string = () => "", code: number = EXIT.done): number {
    this.terminal.stdout.write(this.isJson ? `${stringifyJson(document, 2)}\n` : text());
    return code;
  }

  /** The author of notes, edits, discards and operations: `REDRIVE_AUTHOR`, or the user and machine. */
  get author(): string {
    const { env } = this.terminal;
    return env.REDRIVE_AUTHOR?.trim() || `${userOf(env)}@${hostname()}`;
  }

  note(text: string): void {
    this.terminal.stderr.write(`${text}\n`);
  }

  /** Whether stdin and stderr are terminals, so that a user can answer. */
  get canAnswer(): boolean {
    const { stdin, stderr } = this.terminal;
    return Boolean((stdin as { isTTY?: boolean }).isTTY && stderr.isTTY);
  }

  /** Asks for confirmation and throws unless the answer is yes. Without a terminal it does not ask, so that scripts work. */
  async confirm(question: string): Promise<void> {
    if (this.canAnswer && !(await this.ask(question))) throw new RedriveError("usage", "Cancelled.");
  }

  /** Asks a yes/no question. The end of the input means no; Ctrl-C ends the command. */
  async ask(question: string): Promise<boolean> {
    const { createInterface } = await import("node:readline/promises"); // few commands ask
    const { stdin, stderr } = this.terminal;
    const dialogue = createInterface({ input: stdin, output: stderr });
    let isInterrupted = false;
    const answer = await new Promise<string>((resolve) => {
      dialogue.once("SIGINT", () => {
        isInterrupted = true;
        resolve("\n");
      });
      dialogue.once("close", () => resolve("\n"));
      dialogue.question(`${question} [y/N] `).then(resolve, () => resolve("\n"));
    });
    dialogue.close();
    if (answer === "\n") stderr.write("\n"); // ends the line of the question
    if (isInterrupted) throw new RedriveError("interrupted", "Cancelled.");
    return /^y(es)?$/i.test(answer.trim());
  }
}

function userOf(env: NodeJS.ProcessEnv): string {
  try {
    return userInfo().username;
  } catch {
    return env.USER ?? "unknown"; // a container may run under a uid without a name
  }
}
