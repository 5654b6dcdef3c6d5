/** Opens a PostgreSQL store: creates or migrates its tables and implements the engine contract. */

import type { Engine } from "../../engine.ts";
import { listHolders } from "../sql/holders.ts";
import { queueNo } from "../sql/jobs.ts";
import { sharedMethods, type Transactions } from "../sql/methods.ts";
import { checkStore, storeInfo } from "./check.ts";
import { runOn } from "./db.ts";
import { listEvents, newestEvent } from "./events.ts";
import { earliestFailure } from "./group-walk.ts";
import { Heartbeats } from "./heartbeats.ts";
import { SettleAndLeaseSteps } from "./in-doubt.ts";
import { addItems } from "./intake.ts";
import { listItemEvents } from "./item-events.ts";
import { listLetters } from "./letter-list.ts";
import { readLetterRecords } from "./letter-records.ts";
import { readLetter } from "./letters.ts";
import { Listener } from "./listener.ts";
import { migrate, requireVersion } from "./migrate.ts";
import { deleteRows, readRows, writeRows } from "./rows.ts";
import { type Limits, Session, type SessionOptions, type Tx } from "./session.ts";
import { CallerTransactions } from "./within.ts";

/** A longer wait for the letter lock is reported to `onWait`. */
const SILENCE_MS_MAX = 1_000;

export interface PostgresOptions extends SessionOptions {
  /** Throws if the store does not exist, instead of creating it. */
  readonly mustExist?: boolean;
  /** Called with the reason when a write has waited for the letter lock for more than a second. */
  readonly onWait?: (reason: string) => void;
}

/** For frequent reads by runners: after a timeout another connection is used. */
const GLANCE: Limits = { timeoutMs: 30_000 };

export async function openPostgresEngine(options: PostgresOptions): Promise<Engine> {
  const { session, foundVersion, wakes } = await openSession(options);
  const steps = new SettleAndLeaseSteps(session);
  const heartbeats = new Heartbeats(session);
  const listener = new Listener(session);
  const callers = new CallerTransactions(session);
  const { readSnapshot, readPipelined, writeLocked } = waysOf(session, options);
  const { shown } = session.address;
  return {
    url: shown,
    can: { sharedByProcesses: true, sharedByMachines: true, wakes, copy: true },
    ...sharedMethods(transactionsOf(session, options)),
    now: () => session.now(),
    watchClock: (report) => heartbeats.watch.on(report),
    requireUsable: () => requireVersion(session),
    add: (queue, items, how) => addItems(session, queue, items, how),
    within: (connection) => callers.over(connection),
    registerHolder: (holder) => heartbeats.registerHolder(holder),
    heartbeat: (holderId) => heartbeats.heartbeat(holderId),
    revoke: (holderId, options) => heartbeats.revoke(holderId, options),
    unregisterHolder: (holderId) => heartbeats.unregisterHolder(holderId),
    listHolders: (filter) => readSnapshot((tx) => runOn(tx, (db) => listHolders(db, filter)), GLANCE),
    settleAndLease: (holderId, request) => steps.settleAndLease(holderId, request),
    watch: async (queue, notify) => {
      await session.readCommitted((tx) => runOn(tx, (db) => queueNo(db, queue)));
      return wakes ? listener.watch(queue, notify) : async () => {};
    },
    listLetters: (query) => listLetters(session, query),
    readLetter: (ref) => readPipelined((tx) => readLetter(tx, ref)),
    readLetterRecords: (address) => readLetterRecords(session, address),
    earliestFailure: (queue) => readSnapshot((tx) => earliestFailure(tx, queue)),
    listEvents: (query) => listEvents(session, query),
    newestEvent: () => newestEvent(session),
    listItemEvents: (query) => readPipelined((tx) => listItemEvents(tx, query)),
    readRows: (table, page) => readSnapshot((tx) => readRows(tx, table, page)),
    writeRows: (table, rows) => writeLocked((tx) => writeRows(tx, table, rows)),
    deleteRows: () => writeLocked((tx) => deleteRows(tx)),
    catchUp: async () => false,
    check: () => readSnapshot((tx) => checkStore(tx)),
    info: () => readSnapshot((tx) => storeInfo(tx, { location: shown, foundVersion })),
    close: async () => {
      await listener.close();
      await session.close();
    },
  };
}

function waysOf(session: Session, { onWait }: PostgresOptions) {
  return {
    readSnapshot: <T>(steps: (tx: Tx) => Promise<T>, limits?: Limits) => session.readSnapshot(steps, limits),
    readPipelined: <T>(steps: (tx: Tx) => Promise<T>, limits?: Limits) =>
      session.readPipelined(steps, limits),
    write: <T>(steps: (tx: Tx) => Promise<T>) => session.write(steps),
    /** For everything that changes letters, groups or operations; see `Tx.lockLetters`. */
    writeLocked: <T>(steps: (tx: Tx) => Promise<T>) =>
      session.writePipelined(async (tx) => {
        const wait = setTimeout(() => onWait?.("another process is changing letters"), SILENCE_MS_MAX);
        try {
          await Promise.all([tx.begun(), tx.lockLetters()]);
        } finally {
          clearTimeout(wait);
        }
        return steps(tx);
      }),
  };
}

function transactionsOf(session: Session, options: PostgresOptions): Transactions {
  const { readPipelined, readSnapshot, write, writeLocked } = waysOf(session, options);
  return {
    readOnce: (steps) => readPipelined((tx) => runOn(tx, steps)),
    readOften: (steps) => readPipelined((tx) => runOn(tx, steps), GLANCE),
    readSnapshot: (steps) => readSnapshot((tx) => runOn(tx, steps)),
    write: (steps) => write((tx) => runOn(tx, steps)),
    writeLocked: (steps) => writeLocked((tx) => runOn(tx, steps)),
  };
}

/** Closes all connections if the store cannot be used. */
async function openSession(options: PostgresOptions) {
  const session = new Session(options);
  try {
    const isPooled = await session.findPooler();
    const foundVersion = await migrate(session, options);
    return { session, foundVersion, wakes: session.address.listens ?? !isPooled };
  } catch (error) {
    await session.close();
    throw error;
  }
}
