/** The methods of the storage contract that both SQL engines share, bound to the transactions of one of them. */
import type { Engine } from "../../engine.ts";
import { correct, listCorrections, removeCorrection } from "./corrections.ts";
import type { Db, Step } from "./db.ts";
import { readDocument, writeDocument } from "./documents.ts";
import { changeOperation, closeOperation, findOperation, listOperations } from "./operations.ts";

/** The transactions of an engine. */
export interface Transactions {
  /** One statement, or several that need not be of one moment. The clock is not to be asked. */
  readOnce<T>(steps: (db: Db) => Step<T>): Promise<T>;
  /** As `readOnce`, for what runners ask for all the time. */
  readOften<T>(steps: (db: Db) => Step<T>): Promise<T>;
  write<T>(steps: (db: Db) => Step<T>): Promise<T>;
  /** For everything that changes letters, groups or operations: one such transaction at a time. */
  writeLocked<T>(steps: (db: Db) => Step<T>): Promise<T>;
}

export function sharedMethods({ readOnce, readOften, write, writeLocked }: Transactions) {
  return {
    correct: (correction) => writeLocked((db) => correct(db, correction)),
    removeCorrection: (from, text) => writeLocked((db) => removeCorrection(db, from, text)),
    listCorrections: () => readOnce((db) => listCorrections(db)),
    changeOperation: (id, change) => writeLocked((db) => changeOperation(db, id, change)),
    findOperation: (id) => readOnce((db) => findOperation(db, id)),
    listOperations: (filter) => readOnce((db) => listOperations(db, filter)),
    closeOperation: (id) => writeLocked((db) => closeOperation(db, id)),
    readDocument: (name) => readOften((db) => readDocument(db, name)),
    writeDocument: (name, document) => write((db) => writeDocument(db, name, document)),
  } satisfies Partial<Engine>;
}
