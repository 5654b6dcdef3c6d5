/** Opens a PostgreSQL store: makes its tables or brings them to the newest version, and binds the contract to this folder. */

import type { Engine } from "../../engine.ts";
import { advance } from "./advance.ts";
import { listAmendments } from "./amendments.ts";
import { listArrivals } from "./arrivals.ts";
import { listAttempts } from "./attempts.ts";
import { Beats } from "./beats.ts";
import { checkStore, storeInfo } from "./check.ts";
import { correct, listCorrections, removeCorrection } from "./corrections.ts";
import { listCounters } from "./counters.ts";
import { deleteJob } from "./delete-job.ts";
import { readDocument, writeDocument } from "./documents.ts";
import { Exchanges } from "./doubt.ts";
import { listErrors } from "./error-log.ts";
import { listEvents, newestEvent } from "./events.ts";
import { earliestFailure } from "./group-walk.ts";
import { listGroups } from "./groups.ts";
import { moveHeld } from "./hold.ts";
import { importLetters } from "./import.ts";
import { addItems } from "./intake.ts";
import { findItems, listItems, listResults } from "./items.ts";
import { changeJob, countQueue, createJob, findJob, listJobs, queueNo } from "./jobs.ts";
import { listHolders, listLeases } from "./lease.ts";
import { listLetters } from "./letter-list.ts";
import { readLetter } from "./letters.ts";
import { Listener } from "./listener.ts";
import { listMarks, markGroup, readGroup } from "./marks.ts";
import { migrate, requireVersion } from "./migrate.ts";
import { addNote, listNotes } from "./notes.ts";
import { changeOperation, closeOperation, findOperation, listOperations } from "./operations.ts";
import { regroup } from "./regroup.ts";
import { deleteRows, readRows, writeRows } from "./rows.ts";
import { beginOperation, enlist, listRefusals, listSelected } from "./selection.ts";
import { type Limits, Session, type SessionOptions, type Tx } from "./session.ts";

export interface PostgresOptions extends SessionOptions {
  /** A store that is not there is not made. */
  readonly mustExist?: boolean;
}

/** For what runners ask for all the time: a runner that hears nothing is better off with another connection. */
const GLANCE: Limits = { timeoutMs: 30_000 };

export async function openPostgresEngine(options: PostgresOptions): Promise<Engine> {
  const { session, foundVersion, wakes } = await openSession(options);
  const exchanges = new Exchanges(session);
  const beats = new Beats(session);
  const listener = new Listener(session);
  const { read, ask, write, byTheBook } = waysOf(session);
  const { shown } = session.address;
  return {
    url: shown,
    can: { sharedByProcesses: true, sharedByMachines: true, wakes, copy: true, findItemEvents: false },
    now: () => session.now(),
    requireUsable: () => requireVersion(session),
    createJob: (job) => write((tx) => createJob(tx, job)),
    findJob: (idOrName) => ask((tx) => findJob(tx, idOrName), GLANCE),
    listJobs: (page) => ask((tx) => listJobs(tx, page)),
    changeJob: (id, change) => write((tx) => changeJob(tx, id, change)),
    deleteJob: (id, step) => byTheBook((tx) => deleteJob(tx, id, step)),
    add: (queue, items, how) => addItems(session, queue, items, how),
    hold: (queue, itemIds, by) => write((tx) => moveHeld(tx, { queue, itemIds, by, to: "held" })),
    unhold: (queue, itemIds, by) => write((tx) => moveHeld(tx, { queue, itemIds, by, to: "ready" })),
    enter: (holder) => beats.enter(holder),
    beat: (holderId) => beats.beat(holderId),
    revoke: (holderId, options) => beats.revoke(holderId, options),
    leave: (holderId) => beats.leave(holderId),
    listHolders: () => read((tx) => listHolders(tx), GLANCE),
    listLeases: (holderId) => ask((tx) => listLeases(tx, holderId), GLANCE),
    exchange: (holderId, request) => exchanges.exchange(holderId, request),
    watch: async (queue, ring) => {
      await session.look((tx) => queueNo(tx, queue));
      return wakes ? listener.watch(queue, ring) : async () => {};
    },
    count: (queue) => ask((tx) => countQueue(tx, queue), GLANCE),
    findItems: (idOrPrefix, where) => read((tx) => findItems(tx, idOrPrefix, where)),
    listItems: (query) => read((tx) => listItems(tx, query)),
    listNotes: (ref) => ask((tx) => listNotes(tx, ref)),
    listErrors: (query) => read((tx) => listErrors(tx, query)),
    listCounters: () => ask((tx) => listCounters(tx)),
    listResults: (queue, page) => read((tx) => listResults(tx, queue, page)),
    listAttempts: (ref) => ask((tx) => listAttempts(tx, ref)),
    listLetters: (query) => listLetters(session, query),
    readLetter: (ref) => ask((tx) => readLetter(tx, ref)),
    listGroups: (filter) => ask((tx) => listGroups(tx, filter)),
    listArrivals: (query) => read((tx) => listArrivals(tx, query)),
    earliestFailure: (queue) => read((tx) => earliestFailure(tx, queue)),
    listEvents: (query) => listEvents(session, query),
    newestEvent: () => newestEvent(session),
    readGroup: (signature) => read((tx) => readGroup(tx, signature)),
    listMarks: (filter) => read((tx) => listMarks(tx, filter)),
    markGroup: (signature, change) => byTheBook((tx) => markGroup(tx, signature, change)),
    correct: (correction) => byTheBook((tx) => correct(tx, correction)),
    removeCorrection: (from, text) => byTheBook((tx) => removeCorrection(tx, from, text)),
    listCorrections: () => ask((tx) => listCorrections(tx)),
    regroup: (letters) => byTheBook((tx) => regroup(tx, letters)),
    importLetters: (queue, letters) => byTheBook((tx) => importLetters(tx, queue, letters)),
    addNote: (ref, note) => write((tx) => addNote(tx, ref, note)),
    listAmendments: (ref) => ask((tx) => listAmendments(tx, ref)),
    beginOperation: (operation) => byTheBook((tx) => beginOperation(tx, operation)),
    enlist: (id, found) => byTheBook((tx) => enlist(tx, id, found)),
    listSelected: (id, query) => read((tx) => listSelected(tx, id, query)),
    listRefusals: (id) => read((tx) => listRefusals(tx, id)),
    advance: (id, step) => byTheBook((tx) => advance(tx, id, step)),
    changeOperation: (id, change) => byTheBook((tx) => changeOperation(tx, id, change)),
    findOperation: (id) => ask((tx) => findOperation(tx, id)),
    listOperations: (filter) => ask((tx) => listOperations(tx, filter)),
    closeOperation: (id) => byTheBook((tx) => closeOperation(tx, id)),
    readDocument: (name) => ask((tx) => readDocument(tx, name), GLANCE),
    writeDocument: (name, document) => write((tx) => writeDocument(tx, name, document)),
    readRows: (table, page) => read((tx) => readRows(tx, table, page)),
    writeRows: (table, rows) => byTheBook((tx) => writeRows(tx, table, rows)),
    deleteRows: () => byTheBook((tx) => deleteRows(tx)),
    catchUp: async () => false,
    check: () => read((tx) => checkStore(tx)),
    info: () => read((tx) => storeInfo(tx, { location: shown, foundVersion })),
    close: async () => {
      await listener.close();
      await session.close();
    },
  };
}

function waysOf(session: Session) {
  return {
    read: <T>(steps: (tx: Tx) => Promise<T>, limits?: Limits) => session.read(steps, limits),
    ask: <T>(steps: (tx: Tx) => Promise<T>, limits?: Limits) => session.ask(steps, limits),
    write: <T>(steps: (tx: Tx) => Promise<T>) => session.write(steps),
    /** For everything that changes letters, groups or operations; see `Tx.takeBook`. */
    byTheBook: <T>(steps: (tx: Tx) => Promise<T>) =>
      session.writeEagerly(async (tx) => {
        await Promise.all([tx.begun(), tx.takeBook()]);
        return steps(tx);
      }),
  };
}

/** A store that cannot be used leaves no connection behind. */
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
