/**
 * Services that write letters to files while a job runs: its letter directory, and the `receipts.json` of a target. Each waits
 * nine times as long as its last write took, so the work never waits for it. The store is the truth; nothing is read back.
 */
import { dirname } from "node:path";
import type { Projection } from "../dead-letter/projection.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { BackgroundTask } from "../std/background-task.ts";
import { makeFolder } from "../std/files.ts";
import {
  type DirectoryPlace,
  isReceiptsFileNeeded,
  openProjection,
  receiptsFile,
  writeReceipts,
} from "./letter-directory.ts";
import type { Service, ServiceContext, StartService } from "./service.ts";

/** The service that writes a job's letter directory. */
export function letterMirror(options: Omit<DirectoryPlace, "home"> = {}): StartService {
  return (job, context) => {
    const { engine, home } = context;
    return new LetterMirror(openProjection(engine, job, { ...options, home }), context);
  };
}

/** The service that writes a target's letters to the given file. */
export function receiptsMirror(path: string): StartService {
  return (job, context) => new ReceiptsMirror({ path, isAlways: true }, job, context);
}

/** The service that writes a target's letters to its file in the home; other jobs have none. */
export function homeReceiptsMirror(): StartService {
  return (job, context) =>
    job.kind === "target"
      ? new ReceiptsMirror({ path: receiptsFile(context.home, job.id), isAlways: false }, job, context)
      : { stop: async () => undefined };
}

const PAUSE_MS_MIN = 500;
/** At most one id is written into an index per millisecond of a run. */
const PAUSE_MS_PER_ITEM = 1;
/** At most a tenth of a run's time is spent on writing. */
const PAUSE_PER_WRITE = 9;

class LetterMirror implements Service {
  readonly #projection: Projection;
  readonly #task: BackgroundTask;
  #pauseMs = PAUSE_MS_MIN;
  /** Whether there ever was anything to write. */
  #isNeeded: boolean;

  constructor(projection: Projection, context: ServiceContext) {
    this.#projection = projection;
    this.#isNeeded = projection.isThere;
    this.#task = new BackgroundTask({
      ...context,
      run: async ({ isLast }) => {
        if (!isLast) await this.#write(context);
        else if (this.#isNeeded) await projection.finish();
        return undefined;
      },
      wakeMs: () => this.#pauseMs,
      errorText: (reason) =>
        `The letter directory ${projection.folder} could not be written: ${reason}. Nothing is lost: the store has every letter, and \`redrive dlq mirror\` writes the directory again.`,
    });
    if (this.#isNeeded) this.#task.wake(); // another process may have changed letters since it was written
  }

  settled(item: LeasedItem, { death }: Settlement): void {
    if (death === undefined && item.redriveCount === 0) return;
    this.#isNeeded = true;
    this.#task.wake();
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  async #write({ clock }: ServiceContext): Promise<void> {
    const startedAt = clock.now();
    const { items } = await this.#projection.catchUp();
    const tookMs = clock.now() - startedAt;
    this.#pauseMs = Math.max(PAUSE_MS_MIN, items * PAUSE_MS_PER_ITEM, tookMs * PAUSE_PER_WRITE);
  }
}

interface ReceiptsFile {
  readonly path: string;
  /** Whether the file is written even when there never was a letter. If not, its folder is made with the first one. */
  readonly isAlways: boolean;
}

/** Other processes bury letters too, and tools read the file while it is in use. */
const CHECK_MS = 5000;

class ReceiptsMirror implements Service {
  readonly #file: ReceiptsFile;
  readonly #job: Job;
  readonly #context: ServiceContext;
  readonly #task: BackgroundTask;
  #pauseMs = PAUSE_MS_MIN;
  /** The newest event at the last write. Without a newer one nothing has changed. */
  #writtenTo: number | null = null;

  constructor(file: ReceiptsFile, job: Job, context: ServiceContext) {
    this.#file = file;
    this.#job = job;
    this.#context = context;
    this.#task = new BackgroundTask({
      ...context,
      run: ({ isLast }) => this.#write(isLast),
      wakeMs: () => this.#pauseMs,
      errorText: (reason) =>
        `${file.path} could not be written: ${reason}. The file is unchanged, and the store has every letter; it is tried again.`,
    });
    this.#task.wake(0); // the file is there from the start, and another process may have changed letters
  }

  settled(item: LeasedItem, { death }: Settlement): void {
    if (death !== undefined || item.redriveCount > 0) this.#task.wake();
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  async #write(isLast: boolean): Promise<number> {
    const { engine, clock } = this.#context;
    const { path, isAlways } = this.#file;
    const newest = await engine.newestEvent();
    if (newest === this.#writtenTo && !isLast) return CHECK_MS;
    const startedAt = clock.now();
    if (!isAlways) {
      if (!(await isReceiptsFileNeeded(engine, this.#job.id, path))) return CHECK_MS;
      makeFolder(dirname(path));
    }
    await writeReceipts(engine, this.#job.id, path);
    this.#writtenTo = newest;
    this.#pauseMs = Math.max(PAUSE_MS_MIN, (clock.now() - startedAt) * PAUSE_PER_WRITE);
    return CHECK_MS;
  }
}
