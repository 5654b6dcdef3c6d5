/** Binds the storage contract to an open SQLite database, in a file or in memory. */
import type { Engine } from "../../engine.ts";
import type { Db, Step } from "../sql/db.ts";
import { heartbeat, listHolders, registerHolder, revoke, unregisterHolder } from "../sql/holders.ts";
import { queueNo } from "../sql/jobs.ts";
import { sharedMethods, type Transactions } from "../sql/methods.ts";
import { checkStore, storeInfo } from "./check.ts";
import { runOn } from "./db.ts";
import { listEvents, newestEvent } from "./events.ts";
import { addItems } from "./intake.ts";
import { listItemEvents } from "./item-events.ts";
import { listLetters } from "./letter-list.ts";
import { readLetterRecords } from "./letter-records.ts";
import { readLetter } from "./letters.ts";
import { earliestFailure } from "./letters-by-age.ts";
import { deleteRows, readRows, writeRows } from "./rows.ts";
import type { Session } from "./session.ts";
import { settleAndLease } from "./settle-and-lease.ts";
import { catchUp } from "./text-index.ts";
import { engineWithin } from "./within.ts";

/** Creates the engine for a prepared session. Closing the engine closes the session. */
export function engineOf(session: Session): Engine {
  const { inMemory } = session;
  const transactions = transactionsOf(session);
  const { write } = transactions;
  return {
    url: inMemory ? session.path : `sqlite:${session.path}`,
    can: {
      sharedByProcesses: !inMemory,
      sharedByMachines: false,
      wakes: false,
      copy: !inMemory, // a store in memory ends with its process
    },
    ...sharedMethods(transactions),
    registerHolder: (holder) => write((db) => registerHolder(db, holder)),
    revoke: (holderId, options) => write((db) => revoke(db, holderId, options)),
    unregisterHolder: (holderId) => write((db) => unregisterHolder(db, holderId)),
    now: async () => session.clock.now(),
    watchClock: (report) => session.clock.watch.on(report),
    requireUsable: async () => session.requireSound(),
    add: (queue, items, how) => session.write(() => addItems(session, queue, items, how)),
    within: (connection) => engineWithin(session, connection),
    heartbeat: async (holderId) => {
      session.requireSound();
      return write((db) => heartbeat(db, holderId));
    },
    listHolders: (filter) => transactions.readOnce((db) => listHolders(db, filter)),
    settleAndLease: (holderId, request) => session.write(() => settleAndLease(session, holderId, request)),
    watch: async (queue, notify) => watchQueue(session, queue, notify),
    listLetters: async (query) => {
      if (query.text !== undefined) await catchUp(session, SEARCHING);
      return session.read(() => listLetters(session, query));
    },
    readLetter: async (ref) => session.read(() => readLetter(session, ref)),
    readLetterRecords: async (address) => session.read(() => readLetterRecords(session, address)),
    earliestFailure: async (queue) => session.read(() => earliestFailure(session, queue)),
    listEvents: async (query) => listEvents(session, query),
    newestEvent: async () => newestEvent(session),
    listItemEvents: async (query) => session.read(() => listItemEvents(session, query)),
    readRows: async (table, page) => session.read(() => readRows(session, table, page)),
    writeRows: (table, rows) => session.write(() => writeRows(session, table, rows)),
    deleteRows: () => session.write(() => deleteRows(session)),
    catchUp: ({ forMs, leaveMax = 0 }) => catchUp(session, { forMs, leaveMax }),
    check: async () => session.read(() => checkStore(session)),
    info: async () => storeInfo(session),
    close: async () => session.close(),
  };
}

function transactionsOf(session: Session): Transactions {
  const now = async <T>(steps: (db: Db) => Step<T>) => runOn(session, steps);
  const write = <T>(steps: (db: Db) => Step<T>) => session.write(() => runOn(session, steps));
  const readSnapshot = async <T>(steps: (db: Db) => Step<T>) => session.read(() => runOn(session, steps));
  return { readOnce: now, readOften: now, readSnapshot, write, writeLocked: write };
}

/**
 * Limits the indexing of new letters before a search; scanning a few unindexed letters is as fast as indexing
 * them.
 */
const SEARCHING = { forMs: 1000, leaveMax: 500 };

function watchQueue(session: Session, queue: string, notify: () => void): () => Promise<void> {
  const end = session.watch(
    runOn(session, (db) => queueNo(db, queue)),
    notify,
  );
  return async () => end();
}
