/**
 * Keeps a `receipts.json` of a target's letters beside the work, for tools that read such a file. It is written whole and
 * put into place at once, so that a reader never meets half of it; when it cannot be written, the old one stays, and that is
 * said. The store is the truth: nothing is ever read from the file.
 */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { inPieces, textOf } from "../dead-letter/exchange/text-form.ts";
import type { Engine } from "../engine.ts";
import { isStoreTrouble } from "../errors.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import { fileNameOf } from "../item/item-path.ts";
import type { Job } from "../item/job.ts";
import { removeStaleDrafts, writeAtomically } from "../kit/atomic-file.ts";
import { makeFolder } from "../kit/make-folder.ts";
import { selectLetters } from "../redrive/select.ts";
import type { Companion, CompanionSurroundings, OpenCompanion } from "./companion.ts";

/** A companion that keeps the file. */
export function mirroringReceipts(path: string): OpenCompanion {
  return (job, surroundings) => new ReceiptsMirror({ path, isAlways: true }, job, surroundings);
}

/** A companion that keeps the undelivered receipts of a target in the home; other jobs have none. */
export function keepingReceipts(): OpenCompanion {
  return (job, surroundings) =>
    job.kind === "target"
      ? new ReceiptsMirror({ path: receiptsFile(surroundings.home, job.id) }, job, surroundings)
      : { stop: async () => undefined };
}

/** `{home}/receipts/{target}/receipts.json` */
export function receiptsFile(home: string, target: string): string {
  return join(home, "receipts", fileNameOf(target), "receipts.json");
}

/** Brings the file in the home to what the store has. It is made with the first letter. */
export async function refreshReceipts(engine: Engine, { id, kind }: Job, home: string): Promise<void> {
  const path = receiptsFile(home, id);
  if (kind !== "target" || !(await isNeeded(engine, id, path))) return;
  makeFolder(dirname(path));
  await writeReceipts(engine, id, path);
}

async function isNeeded(engine: Engine, queue: string, path: string): Promise<boolean> {
  return existsSync(path) || (await engine.listLetters({ queue, limit: 0 })).total > 0;
}

async function writeReceipts(engine: Engine, queue: string, path: string): Promise<void> {
  const letters = selectLetters(engine, { filter: { queue } }, { order: "oldest" });
  await writeAtomically(path, inPieces(textOf(letters, "receipts")));
  await removeStaleDrafts(dirname(path));
}

interface MirrorFile {
  readonly path: string;
  /** Whether the file is there also when there was never a letter. Default false; its folder is made when it is needed. */
  readonly isAlways?: boolean;
}

const PAUSE_MS_MIN = 500;
/** Letters of other processes come too, and the file is there for tools that look at it now. */
const LOOK_MS = 5000;
/** Of the time of a run, at most a tenth is spent here. */
const PAUSE_PER_WORK = 9;

class ReceiptsMirror implements Companion {
  readonly #path: string;
  readonly #isAlways: boolean;
  readonly #job: Job;
  readonly #surroundings: CompanionSurroundings;
  #pauseMs = PAUSE_MS_MIN;
  #cancelTimer: (() => void) | undefined;
  #cancelLook: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  #isBehind = false;
  #isOver = false;
  /** The newest event when the file was written last: nothing has changed since, unless there is a newer one. */
  #writtenTo: number | null = null;
  #complaint = "";

  constructor({ path, isAlways = false }: MirrorFile, job: Job, surroundings: CompanionSurroundings) {
    this.#path = path;
    this.#isAlways = isAlways;
    this.#job = job;
    this.#surroundings = surroundings;
    this.#write(); // it is there from the beginning, and others may have changed letters since it was written
    this.#lookLater();
  }

  settled(item: LeasedItem, { grave }: Settlement): void {
    if (grave !== undefined || item.redriveCount > 0) this.#wake();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#cancelTimer?.();
    this.#cancelLook?.();
    await this.#writing;
    this.#writtenTo = null;
    await this.#guarded();
  }

  #lookLater(): void {
    this.#cancelLook = this.#surroundings.clock.after(LOOK_MS, () => {
      this.#wake();
      this.#lookLater();
    });
  }

  #wake(): void {
    this.#isBehind = true;
    if (this.#isOver || this.#writing || this.#cancelTimer) return;
    this.#cancelTimer = this.#surroundings.clock.after(this.#pauseMs, () => this.#write());
  }

  #write(): void {
    this.#cancelTimer = undefined;
    this.#isBehind = false;
    this.#writing = this.#guarded().finally(() => {
      this.#writing = undefined;
      if (this.#isBehind) this.#wake();
    });
  }

  async #writeAll(): Promise<void> {
    const { engine, clock } = this.#surroundings;
    const newest = await engine.newestEvent();
    if (newest === this.#writtenTo) return;
    const startedAt = clock.now();
    if (!this.#isAlways) {
      if (!(await isNeeded(engine, this.#job.id, this.#path))) return;
      makeFolder(dirname(this.#path));
    }
    await writeReceipts(engine, this.#job.id, this.#path);
    this.#writtenTo = newest;
    this.#complaint = "";
    this.#pauseMs = Math.max(PAUSE_MS_MIN, (clock.now() - startedAt) * PAUSE_PER_WORK);
  }

  /** A store that cannot be read now is the runner's concern; anything else is said, and not again and again. */
  async #guarded(): Promise<void> {
    try {
      await this.#writeAll();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason === this.#complaint || (isStoreTrouble(error) && !this.#isOver)) return;
      this.#complaint = reason;
      this.#surroundings.onNotice(
        `${this.#path} could not be written: ${reason}. What was there is as it was, and the store has every letter; it is tried again.`,
      );
    }
  }
}
