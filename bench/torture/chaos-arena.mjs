/**
 * Where the chaos takes place: a home, a store (a SQLite file, or a PostgreSQL server of its own with everything durable), a
 * crew of workers that is kept complete, and the commands that are started beside them.
 */
import { execFileSync, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { openStore } from "../../dist/index.js";
import { hasBash } from "./arena.mjs";
import { CLI } from "./crowd.mjs";
import { workerCommand } from "./items.mjs";
import { PostgresServer } from "./postgres-server.mjs";
import { MARK_VARIABLE, markedProcesses, signal } from "./processes.mjs";

/** Each with what its kind of queue has besides: nothing, lanes, a rate that all workers share. */
export const QUEUES = [
  { name: "plain", settings: [] },
  { name: "laned", settings: [], lanes: 6 },
  { name: "rated", settings: ["--rate", "60/s"] },
];
const SETTINGS = ["--max-retries", "3", "--backoff", "exponential:20ms:200ms", "--unique", "return"];
const CREW = 4;
const STORE_TROUBLE = 75;

export class ChaosArena {
  home = mkdtempSync(join(tmpdir(), "redrive-chaos-"));
  ledger = join(this.home, "ledger");
  mark = this.home;
  /** One sentence for each process that ended as it never should. */
  troubles = [];
  /** What was done, and when: `{ what, at, pid? }`. */
  strikes = [];
  /** When the server could not be reached: `{ from, to }`. */
  outages = [];
  /** The workers that are there; places of those that were struck are filled again. */
  crew = [];
  /** The processes of items that were killed by themselves. */
  killedCommands = new Set();
  /** Other commands that run. */
  commands = new Set();
  /** The longest that the place of a worker stays empty. */
  replaceMsMax = 1000;
  #shell = hasBash() ? "bash" : "sh";
  #started = 0;
  #asking;
  #isOpen = true;

  /** `server`, for PostgreSQL, is closed with the arena. Default: one that is made for it. */
  static async open({ engine = "postgres", server, crew = CREW } = {}) {
    const arena = new ChaosArena();
    for (const name of ["SIGINT", "SIGTERM"]) process.once(name, arena.#onSignal);
    if (engine === "postgres") arena.server = server ?? (await PostgresServer.make({ isDurable: true }));
    for (const { name, settings } of QUEUES) arena.#run("queue", "create", name, ...SETTINGS, ...settings);
    arena.store = await openStore(arena.urlFor("torturer"));
    arena.crew = Array.from({ length: crew }, () => arena.#hire());
    return arena;
  }

  /** The server knows connections by the name. */
  urlFor(name) {
    if (this.server === undefined) return `sqlite:${join(this.home, "redrive.db")}`;
    const url = this.server.url;
    return `${url}${url.includes("?") ? "&" : "?"}application_name=${name}`;
  }

  /** Starts a command of the CLI beside the workers; `ended` resolves with its exit code, null when it was killed. */
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

  /** Records a fault that met somebody at work. */
  hit(what, more = {}) {
    this.strikes.push({ what, at: Date.now(), ...more });
  }

  /** Says that a worker is struck, so that its end is no trouble. */
  strike(worker, name) {
    worker.isStruck = true;
    return signal(worker.pid, name);
  }

  /** Runs a statement beside everybody, over one connection for as long as it lives. */
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
    await asking?.then((client) => client.end()).catch(() => undefined); // the server may be gone by now
  }

  /** The time in which nobody could work. */
  async outage(cause) {
    const from = Date.now();
    await cause();
    await patiently(() => this.ask("SELECT 1"));
    this.outages.push({ from, to: Date.now() });
  }

  /** Lets the workers drain. */
  async dismiss() {
    this.#isOpen = false;
    for (const worker of this.crew) this.strike(worker, "SIGTERM");
    await Promise.all(this.crew.map(({ ended }) => ended));
  }

  /** Whoever ends the torture ends all that it started. */
  #onSignal = async (name) => {
    await this.close({ keep: false });
    process.kill(process.pid, name);
  };

  /** Ends whatever was left, and the home with it. */
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

  /** As a supervisor does. */
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

/** Tries again while the store does not answer. */
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

/** An error of ours that says nothing about the store will not go away. */
function isOurs({ name, code = "" }) {
  return name === "WorkError" && !code.startsWith("store_");
}
