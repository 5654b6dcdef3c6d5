/** Services that write letters to files while a job runs: the letter directory, and `receipts.json` for targets. */
import { dirname } from "node:path";
import type { Job } from "../item/job.ts";
import { BackgroundTask } from "../std/background-task.ts";
import { makeFolder } from "../std/files.ts";
import {
  type DirectoryOptions,
  isReceiptsFileNeeded,
  openProjection,
  receiptsFile,
  writeReceipts,
} from "./letter-directory.ts";
import type { Service, ServiceContext, StartService } from "./service.ts";

const PAUSE_MS_MIN = 500;
/** Lengthens the pause between writes with the number of items, because each write rewrites the index. */
const PAUSE_MS_PER_ITEM = 1;
/** Limits writing to a tenth of the time. */
const PAUSE_PER_WRITE = 9;

/** Returns a service that writes a job's letter directory. */
export function letterMirror(options: Omit<DirectoryOptions, "home"> = {}): StartService {
  return (job, context) => {
    const { engine, home, clock } = context;
    const projection = openProjection(engine, job, { ...options, home });
    /** Whether the directory exists or a letter was buried. */
    let isNeeded = projection.isThere;
    let pauseMs = PAUSE_MS_MIN;
    const task = new BackgroundTask({
      ...context,
      run: async ({ isLast }) => {
        const startedAt = clock.now();
        if (isLast && isNeeded) await projection.finish();
        const items = isLast ? 0 : (await projection.catchUp()).items;
        const tookMs = clock.now() - startedAt;
        pauseMs = Math.max(PAUSE_MS_MIN, items * PAUSE_MS_PER_ITEM, tookMs * PAUSE_PER_WRITE);
        return undefined;
      },
      wakeMs: () => pauseMs,
      errorText: (reason) =>
        `The letter directory ${projection.folder} could not be written: ${reason}. Nothing is lost: the store has every letter, and \`redrive dlq mirror\` writes the directory again.`,
    });
    if (isNeeded) task.wake(); // another process may have changed letters since the last write
    return {
      settled: (item, { death }) => {
        if (death === undefined && item.redriveCount === 0) return;
        isNeeded = true;
        task.wake();
      },
      stop: () => task.stop(),
    };
  };
}

/** Returns a service that writes a target's letters to the given file, even if there are none. */
export function receiptsMirror(path: string): StartService {
  return (job, context) => mirrorReceipts(job, context, { path, isAlways: true });
}

/** Returns a service that writes a target's letters to its file in the home folder. Does nothing for other jobs. */
export function homeReceiptsMirror(): StartService {
  return (job, context) =>
    job.kind === "target"
      ? mirrorReceipts(job, context, { path: receiptsFile(context.home, job.id), isAlways: false })
      : { stop: async () => undefined };
}

const CHECK_MS = 5000;

/** With `isAlways`, the file is written even without letters; otherwise it is created with the first letter. */
function mirrorReceipts(
  { id }: Job,
  context: ServiceContext,
  { path, isAlways }: { path: string; isAlways: boolean },
): Service {
  const { engine, clock } = context;
  let pauseMs = PAUSE_MS_MIN;
  /** The newest event at the last write. If there is no newer one, no letter has changed. */
  let writtenTo: number | null = null;
  const write = async (isLast: boolean) => {
    const newest = await engine.newestEvent();
    if (newest === writtenTo && !isLast) return;
    const startedAt = clock.now();
    if (!isAlways) {
      if (!(await isReceiptsFileNeeded(engine, id, path))) return;
      makeFolder(dirname(path));
    }
    await writeReceipts(engine, id, path);
    writtenTo = newest;
    pauseMs = Math.max(PAUSE_MS_MIN, (clock.now() - startedAt) * PAUSE_PER_WRITE);
  };
  const task = new BackgroundTask({
    ...context,
    run: async ({ isLast }) => {
      await write(isLast);
      return CHECK_MS;
    },
    wakeMs: () => pauseMs,
    errorText: (reason) =>
      `${path} could not be written: ${reason}. The file is unchanged, and the store has every letter; it is tried again.`,
  });
  task.wake(0); // creates the file, and includes changes of other processes
  return {
    settled: (item, { death }) => {
      if (death !== undefined || item.redriveCount > 0) task.wake();
    },
    stop: () => task.stop(),
  };
}
