/**
 * Runs cron schedules in three worker processes over simulated days. Their clocks stand still until this process moves them.
 * Workers are killed (SIGKILL) at random moments, one or all of them, also while runs are added; then the clock may pass
 * hours or days without any worker. In the end every due run exists exactly once, or as its rule for missed runs says.
 *
 * `node bench/torture/schedules.mjs [--days N] [--seed S] [--store URL]` is the long form. The short one runs with the tests.
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chanceOf } from "./chance.mjs";
import { open, TestClock } from "./library.mjs";

const WORKER = fileURLToPath(new URL("schedule-worker.mjs", import.meta.url));
const QUEUE = "reports";
const WORKERS = 3;
const MINUTE = 60_000;
const DAY = 1440 * MINUTE;
/** A week later the clocks of Berlin are set forward. */
const START = Date.UTC(2026, 2, 24);
/** A run that is added later than this was missed. */
const LATE_MS = MINUTE;

const berlin = new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Berlin", timeStyle: "short" });
const isAt = (time) => (ms) => berlin.format(ms) === time;
const every = (minutes) => (ms) => (ms / MINUTE) % minutes === 0;

/** Each with its own arithmetic for due times, so that the pattern is not judged by the code that runs it. */
const SCHEDULES = [
  {
    name: "all",
    cron: "*/7 * * * *",
    missed: "all",
    isDue: (ms) => every(60)(ms) || new Date(ms).getUTCMinutes() % 7 === 0,
  },
  { name: "last", cron: "*/20 * * * *", missed: "last", isDue: every(20) },
  { name: "skip", cron: "0 * * * *", missed: "skip", isDue: every(60) },
  { name: "berlin", cron: "30 4 * * *", timezone: "Europe/Berlin", missed: "all", isDue: isAt("04:30") },
];

export async function tortureSchedules({ url, seed, days = 28, note = () => {} }) {
  const run = new Run({ url, chance: chanceOf(seed), until: START + days * DAY, note });
  try {
    return await run.go();
  } finally {
    await run.close();
  }
}

class Run {
  #wish;
  #clock = new TestClock(START);
  #folder = mkdtempSync(join(tmpdir(), "redrive-clock-"));
  #redrive;
  #workers = [];
  #figures = { runs: 0, "left out": 0, moves: 0, outages: 0, kills: 0 };
  #violations = [];
  /** The due times of each schedule, and what has become of them so far. */
  #books = SCHEDULES.map((schedule) => ({
    ...schedule,
    handled: START,
    must: new Set(),
    may: new Set(),
    skipped: 0,
  }));

  constructor(wish) {
    this.#wish = wish;
  }

  async go() {
    const { url, until, note } = this.#wish;
    this.#setTime(START);
    this.#redrive = await open(url, { clock: this.#clock });
    await this.#redrive.queue(QUEUE, { maxLosses: 1000, backoff: "none" }).ready();
    for (const { name, cron, timezone, missed } of SCHEDULES)
      await this.#redrive.schedule(name, { queue: QUEUE, cron, missed, ...(timezone && { timezone }) });
    while (this.#clock.now() < until) {
      await this.#move();
      note(`${Math.round((this.#clock.now() - START) / DAY)} days, ${this.#figures.kills} kills`);
    }
    await this.#startMissing();
    await this.#judge();
    return { violations: this.#violations, figures: this.#figures };
  }

  async close() {
    for (const worker of this.#workers) worker.kill("SIGKILL");
    await this.#redrive?.close();
    rmSync(this.#folder, { recursive: true });
  }

  /** Moves the clock once, with or without faults. */
  async #move() {
    const { chance } = this.#wish;
    this.#figures.moves += 1;
    const kind = chance.pick([
      [6, "calm"],
      [3, "kill one"],
      [1, "kill all, then an outage"],
    ]);
    await this.#startMissing();
    this.#setTime(this.#clock.now() + this.#step());
    if (kind === "calm") return this.#untilHandled();
    const victims =
      kind === "kill one" ? [chance.pick(this.#workers.map((worker) => [1, worker]))] : this.#workers;
    const moment = chance.between(0, 40); // milliseconds after the move, while runs are added
    await sleep(moment);
    await this.#kill([...victims]);
    if (kind === "kill one") return this.#untilHandled();
    this.#figures.outages += 1;
    for (const book of this.#books) this.#note(book, await this.#handledUntil(book));
    this.#setTime(this.#clock.now() + chance.between(1, 60 * 48) * MINUTE);
    await this.#startMissing();
    await this.#untilHandled();
  }

  /** Often to the next due time, otherwise somewhere up to five hours later. */
  #step() {
    const { chance } = this.#wish;
    const from = this.#clock.now();
    if (chance.random() < 0.6) return this.#duesBetween(SCHEDULES[0], from, from + DAY)[0] - from;
    return chance.between(1, 300) * MINUTE - chance.between(0, 59) * 1000;
  }

  #setTime(ms) {
    this.#clock.set(ms);
    writeFileSync(`${this.#clockFile}.new`, String(ms));
    renameSync(`${this.#clockFile}.new`, this.#clockFile);
    for (const { stdin } of this.#workers) stdin.write(`${ms}\n`);
  }

  get #clockFile() {
    return join(this.#folder, "clock");
  }

  async #startMissing() {
    while (this.#workers.length < WORKERS) {
      const args = [WORKER, this.#wish.url, QUEUE, this.#clockFile];
      const worker = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
      worker.stdin.on("error", () => {}); // it was killed
      worker.once("exit", (code) => {
        if (code !== null) this.#violations.push(`a worker ended with status ${code}`);
        this.#workers = this.#workers.filter((one) => one !== worker);
      });
      this.#workers.push(worker);
      await once(worker.stdout, "data");
    }
  }

  async #kill(victims) {
    for (const victim of victims) {
      const ended = once(victim, "exit");
      victim.kill("SIGKILL");
      await ended;
      this.#figures.kills += 1;
    }
  }

  /** The clock stands still until all runs that are due are recorded, so that the rule for missed runs is exact. */
  async #untilHandled() {
    const deadline = performance.now() + 60_000;
    for (const book of this.#books) {
      while (!this.#note(book, await this.#handledUntil(book))) {
        if (performance.now() > deadline)
          throw new Error(`The runs of ${book.name} were not added within a minute.`);
        await sleep(5);
      }
    }
  }

  async #handledUntil({ name }) {
    const document = await this.#redrive.engine.readDocument("schedules");
    return document.body[name].handledUntil;
  }

  /** Applies the rule for missed runs to what is due at this time. Returns false if it is not recorded yet. */
  #note(book, handledUntil) {
    const now = this.#clock.now();
    const due = this.#duesBetween(book, book.handled, now);
    if (due.length === 0) return true;
    const onTime = due.filter((at) => now - at <= LATE_MS);
    const late = due.filter((at) => now - at > LATE_MS);
    const lateToo = { all: late, last: onTime.length > 0 ? [] : late.slice(-1), skip: [] }[book.missed];
    const added = [...onTime, ...lateToo];
    if (handledUntil < due.at(-1)) {
      for (const at of added) book.may.add(at); // a worker that was killed may have added them
      return false;
    }
    for (const at of added) book.must.add(at);
    book.skipped += due.length - added.length;
    book.handled = due.at(-1);
    return true;
  }

  /** After `from`, up to `to`. */
  #duesBetween({ isDue }, from, to) {
    const found = [];
    for (let at = from - (from % MINUTE) + MINUTE; at <= to; at += MINUTE) if (isDue(at)) found.push(at);
    return found;
  }

  async #judge() {
    const queue = this.#redrive.queue(QUEUE);
    const deadline = performance.now() + 120_000;
    for (let counts = await queue.counts(); counts.done < counts.total; counts = await queue.counts()) {
      if (performance.now() > deadline)
        throw new Error(`The items were not worked: ${JSON.stringify(counts)}`);
      await sleep(20);
    }
    const found = new Map();
    for await (const { id } of queue.items()) found.set(id, (found.get(id) ?? 0) + 1);
    for (const book of this.#books) {
      const { skipped } = (await this.#redrive.schedules.list()).find(({ name }) => name === book.name);
      if (skipped !== book.skipped) this.#wrong(book, `${skipped} runs were left out, not ${book.skipped}`);
      for (const at of book.must)
        if (found.get(idOf(book, at)) !== 1) this.#wrong(book, `${idOf(book, at)} is missing`);
      for (const at of [...book.must, ...book.may]) found.delete(idOf(book, at));
      this.#figures.runs += book.must.size;
      this.#figures["left out"] += book.skipped;
    }
    for (const id of found.keys()) this.#violations.push(`${id} was not due`);
    await this.#judgeResults();
  }

  /** An item may be attempted again after a kill, but it succeeds once. */
  async #judgeResults() {
    const { engine } = this.#redrive;
    for (let after = 0, page = []; ; after = page.at(-1).ref) {
      page = await engine.listItems({ queue: QUEUE, after, limit: 500 });
      if (page.length === 0) return;
      for (const { ref, itemId } of page) {
        const done = (await engine.listAttempts(ref)).filter(({ outcome }) => outcome === "succeeded");
        if (done.length !== 1) this.#violations.push(`${itemId} succeeded ${done.length} times`);
      }
    }
  }

  #wrong({ name }, what) {
    this.#violations.push(`schedule ${name}: ${what}`);
  }
}

const idOf = ({ name }, at) => `${name}@${new Date(at).toISOString().replace(".000Z", "Z")}`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { days: { type: "string", default: "56" }, seed: { type: "string" }, store: { type: "string" } },
  });
  const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
  const folder = mkdtempSync(join(tmpdir(), "redrive-schedules-"));
  const url = values.store ?? `sqlite:${join(folder, "store.db")}`;
  const note = (line) => process.stderr.isTTY && process.stderr.write(`\r${line} `);
  const { violations, figures } = await tortureSchedules({ url, seed, days: Number(values.days), note });
  const told = Object.entries(figures).map(([name, figure]) => `${figure} ${name}`);
  console.log(
    `schedules: seed ${seed}, ${values.days} days: ${told.join(", ")}; ${violations.length} violations`,
  );
  for (const violation of violations) console.error(`  - ${violation}`);
  rmSync(folder, { recursive: true });
  process.exitCode = violations.length === 0 ? 0 : 1;
}
