/**
 * The methods of the storage contract that both SQL engines share, bound to the transactions of one engine.
 */
import type { Engine } from "../../engine.ts";
import { advance } from "./advance.ts";
import { listAgentRuns, sumAgentUsage, writeAgentRuns } from "./agent-runs.ts";
import { addNote, listAmendments, listNotes } from "./amendments.ts";
import { listAttempts } from "./attempts.ts";
import { correct, listCorrections, removeCorrection } from "./corrections.ts";
import type { Db, Step } from "./db.ts";
import { deleteJob } from "./delete-job.ts";
import { listArrivals, listCounters } from "./deltas.ts";
import { readDocument, writeDocument } from "./documents.ts";
import { listErrors } from "./events.ts";
import { pageGroups } from "./group-pages.ts";
import { changeGroup, listGroupRecords, listGroups, readGroup } from "./group-records.ts";
import { moveHeld } from "./hold.ts";
import { listLeases } from "./holders.ts";
import { importLetters } from "./import.ts";
import { findItems, listItems, listResults, writeProgress } from "./items.ts";
import { changeJob, countQueue, createJob, findJob, listJobs } from "./jobs.ts";
import { changeOperation, closeOperation, findOperation, listOperations } from "./operations.ts";
import { recordChange } from "./recorded-change.ts";
import { regroup } from "./regroup.ts";
import { beginOperation, enlist, listRefusals, listSelected } from "./selection.ts";

export interface Transactions {
  /** For one statement, or several that need no common snapshot. Must not use `db.now`. */
  readOnce<T>(steps: (db: Db) => Step<T>): Promise<T>;
  /** Like `readOnce`, for reads that runners repeat frequently. */
  readOften<T>(steps: (db: Db) => Step<T>): Promise<T>;
  /** One consistent snapshot for several statements. */
  readSnapshot<T>(steps: (db: Db) => Step<T>): Promise<T>;
  write<T>(steps: (db: Db) => Step<T>): Promise<T>;
  /** For all changes of letters, groups or operations: only one such transaction runs at a time. */
  writeLocked<T>(steps: (db: Db) => Step<T>): Promise<T>;
}

export function sharedMethods(transactions: Transactions) {
  const { readOnce, readOften, readSnapshot, write, writeLocked } = transactions;
  return {
    createJob: (job) => write((db) => createJob(db, job)),
    findJob: (idOrName) => readOften((db) => findJob(db, idOrName)),
    listJobs: (page) => readOnce((db) => listJobs(db, page)),
    changeJob: (id, change) => write((db) => changeJob(db, id, change)),
    deleteJob: (id, step) => writeLocked((db) => deleteJob(db, id, step)),
    count: (queue) => readOften((db) => countQueue(db, queue)),
    listLeases: (holderId) => readOften((db) => listLeases(db, holderId)),
    findItems: (idOrPrefix, where) => readSnapshot((db) => findItems(db, idOrPrefix, where)),
    listItems: (query) => readSnapshot((db) => listItems(db, query)),
    listResults: (queue, page) => readSnapshot((db) => listResults(db, queue, page)),
    listAttempts: (ref) => readOnce((db) => listAttempts(db, ref)),
    listErrors: (query) => readSnapshot((db) => listErrors(db, query)),
    listCounters: () => readOnce((db) => listCounters(db)),
    correct: (correction) => writeLocked((db) => correct(db, correction)),
    removeCorrection: (from, text) => writeLocked((db) => removeCorrection(db, from, text)),
    listCorrections: () => readOnce((db) => listCorrections(db)),
    listGroups: (filter) => readOnce((db) => listGroups(db, filter)),
    pageGroups: (query) => readSnapshot((db) => pageGroups(db, query)),
    readGroup: (signature) => readSnapshot((db) => readGroup(db, signature)),
    listGroupRecords: (filter) => readSnapshot((db) => listGroupRecords(db, filter)),
    changeGroup: (signature, change) => writeLocked((db) => changeGroup(db, signature, change)),
    regroup: (letters) => writeLocked((db) => regroup(db, letters)),
    listArrivals: (query) => readSnapshot((db) => listArrivals(db, query)),
    hold: (queue, itemIds, by) => write((db) => moveHeld(db, { queue, itemIds, by, to: "held" })),
    unhold: (queue, itemIds, by) => write((db) => moveHeld(db, { queue, itemIds, by, to: "ready" })),
    importLetters: (queue, letters) => writeLocked((db) => importLetters(db, queue, letters)),
    addNote: (ref, note) => write((db) => addNote(db, ref, note)),
    listNotes: (ref) => readOnce((db) => listNotes(db, ref)),
    writeProgress: (lease, value) => write((db) => writeProgress(db, lease, value)),
    writeAgentRuns: (queue, runs) => write((db) => writeAgentRuns(db, queue, runs)),
    listAgentRuns: (query) => readSnapshot((db) => listAgentRuns(db, query)),
    sumAgentUsage: (query) => readOften((db) => sumAgentUsage(db, query)),
    listAmendments: (ref) => readOnce((db) => listAmendments(db, ref)),
    beginOperation: (operation) => writeLocked((db) => beginOperation(db, operation)),
    enlist: (id, found) => writeLocked((db) => enlist(db, id, found)),
    listSelected: (id, query) => readSnapshot((db) => listSelected(db, id, query)),
    listRefusals: (id) => readSnapshot((db) => listRefusals(db, id)),
    advance: (id, step) => writeLocked((db) => advance(db, id, step)),
    changeOperation: (id, change) => writeLocked((db) => changeOperation(db, id, change)),
    findOperation: (id) => readOnce((db) => findOperation(db, id)),
    listOperations: (filter) => readOnce((db) => listOperations(db, filter)),
    closeOperation: (id) => writeLocked((db) => closeOperation(db, id)),
    recordChange: (change) => write((db) => recordChange(db, change)),
    readDocument: (name) => readOften((db) => readDocument(db, name)),
    writeDocument: (name, document) => write((db) => writeDocument(db, name, document)),
  } satisfies Partial<Engine>;
}
