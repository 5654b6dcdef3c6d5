/**
 * The environment of a chaos run: a home, a store (a SQLite file, or its own durable PostgreSQL server), a fixed number of
 * workers that are replaced when they end, and the commands started beside them.
 */
import { execFileSync, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { openStore } from "../../dist/engine.js";
import { hasBash } from "./arena.mjs";
import { CLI } from "./crowd.mjs";
import { workerCommand } from "./items.mjs";
import { PostgresServer } from "./postgres-server.mjs";
import { MARK_VARIABLE, markedProcesses, signal } from "./processes.mjs";

/** The queues, each with the options of its kind: none, ordering keys, a rate shared by all workers. */
export const QUEUES = [
  { name: "plain", settings: [] },
  { name: "ordered", settings: [], orderingKeys: 6 },
  { name: "rated", settings: ["--rate", "60/s"] },
];
const SETTINGS = ["--max-retries", "3", "--backoff", "exponential:20ms:200ms", "--unique", "return"];
const CREW = 4;
const STORE_TROUBLE = 75;

export class ChaosArena {
  home = mkdtempSync(join(tmpdir(), "redrive-chaos-"));
  ledger = join(this.home, "ledger");
  mark = this.home;
  /** A description of each process that ended in an unexpected way. */
  troubles = [];
  /** The strikes and their times: `{ what, at, pid? }`. */
  strikes = [];
  /** When the server could not be reached: `{ from, to }`. */
  outages = [];
  /** The running workers. A struck worker is replaced. */
  crew = [];
  /** The item commands that were killed directly. */
  killedCommands = new Set();
  /** The other running commands. */
  commands = new Set();
  /** The longest delay before a worker is replaced. */
  replaceMsMax = 1000;
  #shell = hasBash() ? "bash" : "sh";
  #started = 0;
  #asking;
  #isOpen = true;

  /** `server`, for PostgreSQL, is closed with the arena. Default: a new one. */
  static async open({ engine = "postgres", server, crew = CREW } = {}) {
    const arena = new ChaosArena();
    for (const name of ["SIGINT", "SIGTERM"]) process.once(name, arena.#onSignal);
    if (engine === "postgres") arena.server = server ?? (await PostgresServer.make({ isDurable: true }));
    for (const { name, settings } of QUEUES) arena.#run("queue", "create", name, ...SETTINGS, ...settings);
    arena.store = await openStore(arena.urlFor("torturer"));
    arena.crew = Array.from({ length: crew }, () => arena.#hire());
    return arena;
  }

  /** The URL with an application name, by which the server identifies connections. */
  urlFor(name) {
    if (this.server === undefined) return `sqlite:${join(this.home, "redrive.db")}`;
    const url = this.server.url;
    return `${url}${url.includes("?") ? "&" : "?"}application_name=${name}`;
  }

  /** Starts a CLI command beside the workers; `ended` resolves with its exit code, null if it was killed. */
  start(...words) {
    const command = this.#spawn("command", words);
    this.commands.add(command);
    command.ended = command.ended.then(({ code, said }) => {
      this.commands.delete(command);
      if (![0, 3, null, STORE_TROUBLE].includes(code))
        this.troubles.push(`\`${words.join(" ")}\` ended with ${code}: ${said.slice(-2000)}`);
      return code;
    });
    return command;
  }

  /** Records a fault that hit a process at work. */
  hit(what, more = {}) {
    this.strikes.push({ what, at: Date.now(), ...more });
  }

  /** Marks a worker as struck, so that its end is expected. */
  strike(worker, name) {
    worker.isStruck = true;
    return signal(worker.pid, name);
  }

  /** Runs a statement over a separate connection, which is reused while it works. */
  async ask(sql, ...values) {
    try {
      this.#asking ??= this.#connect();
      return (await (await this.#asking).query(sql, values)).rows;
    } catch (error) {
      await this.#hangUp();
      throw error;
    }
  }

  async #connect() {
    const connectionTimeoutMillis = 5000;
    const connectionString = this.server.adminUrl ?? this.server.url;
    const client = new pg.Client({ connectionString, application_name: "torturer", connectionTimeoutMillis });
    client.on("error", () => undefined); // the next query reports it
    await client.connect();
    return client;
  }

  async #hangUp() {
    const asking = this.#asking;
    this.#asking = undefined;
    await asking?.then((client) => client.end()).catch(() => undefined); // the server may have stopped
  }

  /** Runs `cause` and records how long the server could not be reached. */
  async outage(cause) {
    const from = Date.now();
    await cause();
    await patiently(() => this.ask("SELECT 1"));
    this.outages.push({ from, to: Date.now() });
  }

  /** Asks the workers to drain and waits for them. */
  async dismiss() {
    this.#isOpen = false;
    for (const worker of this.crew) this.strike(worker, "SIGTERM");
    await Promise.all(this.crew.map(({ ended }) => ended));
  }

  /** A signal that ends the torture also ends all processes that it started. */
  #onSignal = async (name) => {
    await this.close({ keep: false });
    process.kill(process.pid, name);
  };

  /** Kills remaining processes and removes the home. */
  async close({ keep }) {
    this.#isOpen = false;
    for (const name of ["SIGINT", "SIGTERM"]) process.removeListener(name, this.#onSignal);
    await this.#hangUp();
    await this.store?.close();
    for (const { pid } of markedProcesses(this.mark)) signal(pid, "SIGKILL");
    await this.server?.remove();
    if (!keep) rmSync(this.home, { recursive: true, force: true });
  }

  #hire() {
    const name = `worker${this.#started + 1}`;
    const queues = QUEUES.flatMap(({ name: queue }) => ["--queue", queue]);
    const words = ["worker", ...queues, "--concurrency", "3", "--grace", "300ms", "--quiet"];
    const worker = this.#spawn(name, [...words, "--", ...workerCommand(this.#shell)]);
    worker.name = name;
    worker.ended = worker.ended.then((how) => this.#replace(worker, how));
    return worker;
  }

  /** Restarts a worker, like a supervisor. */
  async #replace(worker, { code, said }) {
    if (!worker.isStruck)
      this.troubles.push(`${worker.name} ended by itself with ${code}: ${said.slice(-2000)}`);
    if (worker.isStruck && ![null, 143, STORE_TROUBLE].includes(code))
      this.troubles.push(`${worker.name} was struck and ended with ${code}: ${said.slice(-2000)}`);
    if (!this.#isOpen) return;
    await sleep(Math.random() * this.replaceMsMax);
    if (this.#isOpen) this.crew[this.crew.indexOf(worker)] = this.#hire();
  }

  #spawn(name, words) {
    const saidPath = join(this.home, `${name}-${++this.#started}.stderr`);
    const said = openSync(saidPath, "w");
    const env = this.#envFor(name);
    const child = spawn(process.execPath, [CLI, ...words], { env, stdio: ["ignore", "ignore", said] });
    closeSync(said);
    const running = { pid: child.pid, isStruck: false, isOver: false, killedCommands: this.killedCommands };
    running.ended = new Promise((resolve) => {
      child.once("exit", (code) => {
        running.isOver = true;
        resolve({ code, said: readFileSync(saidPath, "utf8") });
      });
    });
    return running;
  }

  #run(...words) {
    execFileSync(process.execPath, [CLI, ...words], { env: this.#envFor("torturer"), stdio: "pipe" });
  }

  #envFor(name) {
    return {
      ...process.env,
      REDRIVE_HOME: this.home,
      REDRIVE_STORE: this.urlFor(name),
      TORTURE_LEDGER: this.ledger,
      [MARK_VARIABLE]: this.mark,
      LC_ALL: "C",
      NO_COLOR: "1",
    };
  }
}

const PATIENCE_MS = 60_000;

/** Retries while the store does not answer. */
export async function patiently(ask) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (Date.now() > deadline || isOurs(error)) throw error;
      await sleep(50);
    }
  }
}

/** An error in our own code, which a retry does not fix. */
function isOurs({ name, code = "" }) {
  return name === "RedriveError" && !code.startsWith("store_");
}
