/**
 * A rolling upgrade under faults: workers of this version run while the next version migrates the store and is killed
 * several times. After the migration the old workers end by themselves, those of the next version finish the work, and the
 * store is checked against the ledger that the commands wrote.
 */
import { spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { hasBash } from "./arena.mjs";
import { chanceOf } from "./chance.mjs";
import { CLI } from "./crowd.mjs";
import { newItems, workerCommand } from "./items.mjs";
import { judge } from "./judge.mjs";
import { readLedger } from "./ledger.mjs";
import { buildNextVersion } from "./next-build.mjs";
import { PostgresServer } from "./postgres-server.mjs";
import { strikeSteadily } from "./process-faults.mjs";
import { MARK_VARIABLE, markedProcesses, signal } from "./processes.mjs";

const CREW = 3;
const STORE_TROUBLE = 75;
const PATIENCE_MS = 120_000;

/** `strikes` before the migration and again after it, `kills` of the migration. Returns the same as `torture`. */
export async function tortureUpgrade({ seed, engine = "sqlite", items = 60, strikes = 25, kills = 4 }) {
  const world = new World(chanceOf(seed), engine);
  try {
    await world.open(items);
    world.keepCrew(CLI);
    await world.strike(strikes);
    await killMigrations(world, kills);
    await oldWorkersEnd(world);
    world.keepCrew(world.next.cli);
    await world.strike(strikes);
    await world.dismiss();
    await finish(world);
    return world.report(await verify(world));
  } catch (error) {
    world.violations.push(`the torture itself broke: ${error.stack}`);
    return world.report({});
  } finally {
    await world.close();
  }
}

class World {
  home = mkdtempSync(join(tmpdir(), "redrive-upgrade-"));
  ledger = join(this.home, "ledger");
  violations = [];
  hits = {};
  ids = [];
  /** The running workers. */
  crew = new Set();
  next;
  chance;
  #engine;
  #server;
  #isKept = false;
  #lanes = [];
  #started = 0;

  constructor(chance, engine) {
    this.chance = chance;
    this.#engine = engine;
  }

  get url() {
    return this.#server?.url ?? `sqlite:${join(this.home, "redrive.db")}`;
  }

  async open(count) {
    this.next = buildNextVersion(join(this.home, "next"));
    if (this.#engine === "postgres") this.#server = await PostgresServer.make({ isDurable: true });
    const items = newItems(this.chance, { from: 0, count, isLong: true });
    this.ids = items.map(({ id }) => id);
    const path = join(this.home, "items.jsonl");
    writeFileSync(path, items.map((data) => `${JSON.stringify({ key: data.id, data })}\n`).join(""));
    await this.run(CLI, "queue", "create", "q", "--max-retries", "3", "--backoff", "exponential:20ms:200ms");
    await this.run(CLI, "queue", "import", "q", path, "--envelope");
  }

  /** Keeps a fixed number of workers of this build running, until they are dismissed or the store refuses them. */
  keepCrew(cli) {
    this.#isKept = true;
    const words = ["worker", "--queue", "q", "--concurrency", "3", "--grace", "300ms", "--quiet", "--"];
    const lane = async () => {
      while (this.#isKept) {
        const worker = this.start(cli, [...words, ...workerCommand(hasBash() ? "bash" : "sh")]);
        this.crew.add(worker);
        const how = await worker.ended;
        this.crew.delete(worker);
        if (how.code === STORE_TROUBLE && /"?store_newer|newer|was changed/.test(how.printed)) return;
        if (how.signal === null && ![143, STORE_TROUBLE].includes(how.code))
          this.violations.push(`a worker ended with ${how.code}: ${how.printed.slice(-1000)}`);
      }
    };
    this.#lanes = Array.from({ length: CREW }, lane);
  }

  strike(count) {
    const until = this.hitCount + count;
    const deadline = Date.now() + PATIENCE_MS;
    return strikeSteadily({
      chance: this.chance,
      isOver: () => this.hitCount >= until || Date.now() > deadline,
      targets: () => [...this.crew].filter(({ isOver, isStruck }) => !isOver && !isStruck),
      onHit: (name) => this.hit(name),
    });
  }

  hit(name) {
    this.hits[name] = (this.hits[name] ?? 0) + 1;
  }

  get hitCount() {
    return Object.values(this.hits).reduce((sum, count) => sum + count, 0);
  }

  start(cli, words) {
    const printedPath = join(this.home, `process-${++this.#started}.stderr`);
    const printed = openSync(printedPath, "w");
    const env = {
      ...process.env,
      ...{
        REDRIVE_HOME: this.home,
        REDRIVE_STORE: this.url,
        TORTURE_LEDGER: this.ledger,
        LC_ALL: "C",
        NO_COLOR: "1",
      },
      [MARK_VARIABLE]: this.home,
    };
    const child = spawn(process.execPath, [cli, ...words], { env, stdio: ["ignore", "ignore", printed] });
    closeSync(printed);
    const running = { pid: child.pid, isOver: false, isStruck: false };
    running.ended = new Promise((resolve) => {
      child.once("exit", (code, name) => {
        running.isOver = true;
        resolve({ code, signal: name, printed: readFileSync(printedPath, "utf8") });
      });
    });
    return running;
  }

  async run(cli, ...words) {
    const { code, printed } = await this.start(cli, words).ended;
    if (code !== 0 && code !== 3)
      this.violations.push(`${words.join(" ")} ended with ${code}: ${printed.slice(-1000)}`);
  }

  /** Resolves when all workers have ended because the store refused them. */
  async untilRefused() {
    const late = sleep(PATIENCE_MS, "late", { ref: false });
    if ((await Promise.race([Promise.all(this.#lanes), late])) === "late")
      this.violations.push("a worker of the old version goes on after the migration");
    await this.dismiss();
  }

  async dismiss() {
    this.#isKept = false;
    for (const { pid } of this.crew) signal(pid, "SIGTERM");
    await Promise.all(this.#lanes);
  }

  report(figures) {
    return {
      violations: this.violations,
      figures: { strikes: this.hitCount, ...figures },
      faults: this.hits,
      home: this.home,
    };
  }

  async close() {
    this.#isKept = false;
    for (const { pid } of markedProcesses(this.home)) signal(pid, "SIGKILL");
    await this.#server?.remove();
    rmSync(join(this.home, "next"), { recursive: true, force: true });
    if (this.violations.length === 0) rmSync(this.home, { recursive: true, force: true });
  }
}

/** Kills the migration several times while the old workers continue, then lets it finish. */
async function killMigrations(world, kills) {
  let guessMs = 1500;
  for (let kill = 0; kill < kills; kill += 1) {
    const migration = world.start(world.next.cli, ["store", "migrate"]);
    const began = performance.now();
    await Promise.race([sleep(guessMs * (0.3 + 0.7 * world.chance.random())), migration.ended]);
    if (!migration.isOver && signal(migration.pid, "SIGKILL")) world.hit("killMigration");
    else guessMs = Math.max(150, (performance.now() - began) * 0.9);
    await migration.ended;
  }
  await world.run(world.next.cli, "store", "migrate");
  world.migratedAt = Date.now();
}

/** Running work may end after the migration; new work must start with the next version. */
async function oldWorkersEnd(world) {
  await world.untilRefused();
}

const ROUNDS_MAX = 4;

async function finish(world) {
  const worker = ["worker", "--queue", "q", "--concurrency", "8", "--drain", "--quiet", "--"];
  for (let round = 1; round <= ROUNDS_MAX; round += 1) {
    await world.run(world.next.cli, ...worker, ...workerCommand(hasBash() ? "bash" : "sh"));
    await world.run(world.next.cli, "dlq", "retry", "q", "--force", "--yes", "--quiet", "--detach");
  }
  await world.run(world.next.cli, ...worker, ...workerCommand(hasBash() ? "bash" : "sh"));
}

async function verify(world) {
  const { openStore } = await import(pathToFileURL(world.next.library));
  const store = await openStore(world.url);
  try {
    const items = [];
    for (const item of await store.findItems("", { queue: "q", limit: 100_000 }))
      items.push({ ...item, attempts: await store.listAttempts(item.ref) });
    const ledger = existsSync(world.ledger) ? readLedger(world.ledger) : [];
    world.violations.push(
      ...judge({ inputIds: world.ids, items, ledger }),
      ...items
        .filter(({ state, data }) => (state === "done") === (data.kind === "bad"))
        .map(({ itemId, state, data }) => `${itemId} (${data.kind}) is ${state} in the end`),
      ...(await store.check()).map(({ rule, detail }) => `store check: ${rule}: ${detail}`),
    );
    return { items: items.length, attempts: items.reduce((sum, { attempts }) => sum + attempts.length, 0) };
  } finally {
    await store.close();
  }
}
