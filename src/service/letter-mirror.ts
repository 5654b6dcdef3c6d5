/** Services that write letters to files while a job runs: the letter directory, and `receipts.json` for targets. */
import { dirname } from "node:path";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { makeFolder } from "../std/files.ts";
import {
  type DirectoryOptions,
  isReceiptsFileNeeded,
  openProjection,
  receiptsFile,
  writeReceipts,
} from "./letter-directory.ts";
import { inRounds, type Rounds, type ServiceContext, type StartService } from "./service.ts";

const PAUSE_MS_MIN = 500;
/** Lengthens the pause between writes with the number of items, because each write rewrites the index. */
const PAUSE_MS_PER_ITEM = 1;
/** Limits writing to a tenth of the time. */
const PAUSE_PER_WRITE = 9;

/** Whether the settlement changes a letter: the item was buried, or it has been redriven. */
const changesLetter = ({ redriveCount }: LeasedItem, { death }: Settlement) =>
  death !== undefined || redriveCount > 0;

/** Returns a service that writes a job's letter directory. */
export function letterMirror(options: Omit<DirectoryOptions, "home"> = {}): StartService {
  return inRounds((job, { engine, home, clock }) => {
    const projection = openProjection(engine, job, { ...options, home });
    /** Whether the directory exists or a letter was buried. */
    let isNeeded = projection.isThere;
    let pauseMs = PAUSE_MS_MIN;
    return {
      startMs: isNeeded ? pauseMs : undefined, // another process may have changed letters since the last write
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
        `The letter directory ${projection.folder} could not be written: ${reason}. Nothing is lost: the store has every letter. Run \`redrive dlq mirror\` to write the directory again.`,
      concerns: (item, settlement) => {
        const isChange = changesLetter(item, settlement);
        isNeeded ||= isChange;
        return isChange;
      },
    };
  });
}

/** Returns a service that writes a target's letters to the given file, even if there are no letters. */
export function receiptsMirror(path: string): StartService {
  return inRounds((job, context) => mirrorReceipts(job, context, { path, isAlways: true }));
}

/** Returns a service that writes a target's letters to its file in the home folder. Does nothing for other jobs. */
export function homeReceiptsMirror(): StartService {
  return inRounds((job, context) => {
    if (job.kind !== "target") return null;
    return mirrorReceipts(job, context, { path: receiptsFile(context.home, job.id), isAlways: false });
  });
}

const CHECK_MS = 5000;

/**
 * With `isAlways`, the file is written even if there are no letters; otherwise it is created with the first
 * letter.
 */
function mirrorReceipts(
  { id }: Job,
  { engine, clock }: ServiceContext,
  { path, isAlways }: { path: string; isAlways: boolean },
): Rounds {
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
  return {
    startMs: 0, // creates the file, and includes changes of other processes
    run: async ({ isLast }) => {
      await write(isLast);
      return CHECK_MS;
    },
    wakeMs: () => pauseMs,
    errorText: (reason) =>
      `${path} could not be written: ${reason}. The file is unchanged, and the store has every letter. The next round tries again.`,
    concerns: changesLetter,
  };
}
