/** Follows clock steps of a SQLite store. A process whose clock differs from that of the others adopts theirs. */
import { processStart, thisHost } from "../../std/process-identity.ts";
import * as steps from "../sql/clock-steps.ts";
import { runOn } from "./db.ts";
import type { Session } from "./session.ts";

/**
 * Call in a separate transaction, before one that writes. Moves waits only by a step that this process has observed, or that
 * happened while no process was running: otherwise its own clock may be wrong. Returns what to do after the commit.
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

/** Whether another process on this machine uses the store; such a process observes clock steps itself. */
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
