/** Follows steps of a SQLite store's clock. A process whose own clock differs from that of the others follows theirs. */
import { processStart, thisHost } from "../../std/process-identity.ts";
import * as steps from "../sql/clock-steps.ts";
import { runOn } from "./db.ts";
import type { Session } from "./session.ts";

/**
 * To be called in a transaction of its own, before one that writes. It moves waits only by a step that this process has seen itself,
 * or that happened while none was running: otherwise its own clock may be the wrong one. Returns what is to be done after the commit.
 */
export function followClock(session: Session): () => void {
  const { clock } = session;
  const sample = clock.sample();
  const seenMs = clock.watch.seenStep(sample) ?? 0;
  const mayMove = (stepMs: number) => stepMs === 0 || seenMs !== 0 || !isAnotherAlive(session);
  const { stepMs, isFollowed } = runOn(session, (db) => steps.followClock(db, sample, mayMove));
  if (!isFollowed) return () => clock.looked(sample, stepMs);
  return () => {
    clock.looked(sample, 0);
    const foundMs = stepMs === 0 ? seenMs : stepMs;
    if (foundMs !== 0) clock.watch.report(foundMs);
  };
}

/** Whether another process of this machine that works on the store is alive, and so sees a step of the clock by itself. */
function isAnotherAlive(session: Session): boolean {
  const holders = session.all<{ host: string; pid: number; process_start: string }>(
    "SELECT host, pid, process_start FROM holders WHERE gone = 0 AND expires_at > 0",
  );
  return holders.some(({ host, pid, process_start }) => {
    if (host !== thisHost() || pid === process.pid) return false;
    const start = processStart(pid);
    return start !== null && (process_start === "" || start === process_start);
  });
}
