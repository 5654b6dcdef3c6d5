/** Library functions for letters and their groups, with argument checks. */

import * as capsules from "../../dead-letter/capsule.ts";
import * as directory from "../../dead-letter/directory.ts";
import * as exports from "../../dead-letter/import-export/export.ts";
import * as imports from "../../dead-letter/import-export/import.ts";
import * as directoryReader from "../../dead-letter/import-export/read-folder.ts";
import * as capsuleMaker from "../../dead-letter/make-capsule.ts";
import * as agents from "../../dead-letter/reported-letter.ts";
import * as stats from "../../dead-letter/stats.ts";
import * as amend from "../../redrive/amend.ts";
import * as analyse from "../../redrive/analyse-selected.ts";
import * as correct from "../../redrive/correct-groups.ts";
import * as discard from "../../redrive/discard.ts";
import * as explain from "../../redrive/explain-group.ts";
import * as groups from "../../redrive/groups.ts";
import * as purge from "../../redrive/purge.ts";
import * as select from "../../redrive/select.ts";
import * as undo from "../../redrive/undo.ts";
import * as mirror from "../../service/letter-directory.ts";
import { name, objectOf, optional, positive, text, time } from "../../std/check-input.ts";
import { checked, checkedNow } from "./checked.ts";
import * as l from "./letter-schemas.ts";
import * as s from "./schemas.ts";

const { engine, operation, job, json, signal } = s;
const { selection, letters } = l;
const continuing = {
  engine,
  operation,
  options: objectOf<{ signal?: AbortSignal }>(optional(signal, "signal")).optional(),
};

/** Converts an agent's result into a letter; null if it succeeded. */
export const agentResultToDlqItem = checkedNow("agentResultToDlqItem", agents.agentResultToDlqItem, {
  result: l.agentResult,
  item: json,
  attempt: positive,
});

/** Reads the letters of a selection, one at a time. */
export const selectLetters = checkedNow("selectLetters", select.selectLetters, {
  engine,
  selection,
  options: l.selectOptions.optional(),
});

/** Counts the letters of a selection. */
export const countSelected = checked("countSelected", select.countSelected, { engine, selection });

/** Analyses why the letters of a selection died: groups, error types and times. */
export const analyseSelected = checked("analyseSelected", analyse.analyseSelected, {
  engine,
  selection,
  options: objectOf<{ sampledGroupsMax?: number }>(optional(positive, "sampledGroupsMax")).optional(),
});

/** The statistics of a queue's letters. */
export const readLetterStats = checked("readLetterStats", stats.readLetterStats, { engine, queue: name });

/** Exports letters to a file. */
export const exportLetters = checked("exportLetters", exports.exportLetters, {
  letters,
  options: l.exportOptions,
});

/** Imports letters from a file or a folder. */
export const importLetters = checked("importLetters", imports.importLetters, {
  engine,
  path: name,
  options: l.importOptions.optional(),
});

/** Writes letters as a folder of files. */
export const writeDirectory = checked("writeDirectory", directory.writeDirectory, {
  root: name,
  letters,
  options: objectOf<{ now: number }>({ now: time }),
});

/** Reads the letters of a folder written by `writeDirectory`. */
export const readDirectory = checkedNow("readDirectory", directoryReader.readDirectory, { folder: name });

/** Rewrites the letter directory of a job. */
export const mirrorJob = checked("mirrorJob", mirror.mirrorJob, { engine, job, options: s.directoryOptions });

/** Rewrites the letter directories of all jobs. */
export const mirrorAll = checked("mirrorAll", mirror.mirrorAll, { engine, options: s.directoryOptions });

/** Updates an existing letter directory. */
export const refreshDirectory = checked("refreshDirectory", mirror.refreshDirectory, {
  engine,
  job,
  options: s.changedDirectory,
});

/** Collects everything needed to examine a letter on another machine. */
export const makeCapsule = checked("makeCapsule", capsuleMaker.makeCapsule, {
  engine,
  letter: s.thing,
  options: s.capsuleOptions,
});

/** Writes a capsule to a file; returns its size in bytes. */
export const writeCapsule = checked("writeCapsule", capsules.writeCapsule, { path: name, capsule: s.thing });

/** Reads a capsule from a file. */
export const readCapsule = checked("readCapsule", capsules.readCapsule, { path: name });

/** Edits the data of letters. Earlier revisions are kept. */
export const editLetters = checked("editLetters", amend.editLetters, { engine, request: l.editRequest });

/** Resumes an edit. */
export const continueEdit = checked("continueEdit", amend.continueEdit, continuing);

/** Discards letters with a reason. They can be restored. */
export const discardLetters = checked("discardLetters", discard.discardLetters, {
  engine,
  request: l.discardRequest,
});

/** Makes discarded letters dead again. */
export const restoreLetters = checked("restoreLetters", discard.restoreLetters, {
  engine,
  request: l.restoreRequest,
});

/** Resumes a discard or a restore. */
export const continueDiscard = checked("continueDiscard", discard.continueDiscard, continuing);

/** Archives letters, then deletes them. */
export const purgeLetters = checked("purgeLetters", purge.purgeLetters, { engine, request: l.purgeRequest });

/** Resumes a purge. */
export const continuePurge = checked("continuePurge", purge.continuePurge, {
  engine,
  operation,
  options: objectOf<{ home: string; signal?: AbortSignal }>({ home: name, ...optional(signal, "signal") }),
});

/** Requeues letters as new items. */
export const requeueLetters = checked("requeueLetters", amend.requeueLetters, {
  engine,
  request: l.requeueRequest,
});

/** Undoes an edit, a discard, a restore or a purge. */
export const undoOperation = checked("undoOperation", undo.undoOperation, {
  engine,
  operation,
  options: objectOf<{ author: string; signal?: AbortSignal }>({
    author: name,
    ...optional(signal, "signal"),
  }),
});

/** Merges groups. Later failures follow the merge. */
export const mergeGroups = checked("mergeGroups", correct.mergeGroups, {
  engine,
  request: s.mergeRequest,
  options: s.correctOptions,
});

/** Moves failures whose message contains a text, including later ones, into a separate group. */
export const splitGroup = checked("splitGroup", correct.splitGroup, {
  engine,
  group: s.namedGroup,
  options: s.splitOptions,
});

/** Finds a group by its signature, a prefix of it, or its name. */
export const requireGroup = checked("requireGroup", groups.requireGroup, { engine, word: text });

/** Lists the groups of all queues, or of one. */
export const listGroups = checked("listGroups", groups.listGroups, { engine, query: s.groupQuery });

/** Explains how a group was formed. */
export const explainGroup = checked("explainGroup", explain.explainGroup, {
  engine,
  group: s.namedGroup,
  rules: s.groupRules,
});

/** Explains why a letter is in its group. */
export const explainLetter = checked("explainLetter", explain.explainLetter, {
  engine,
  letter: s.thing,
  rules: s.groupRules,
});

/** Recomputes the groups of all letters. */
export const rebuildGroups = checked("rebuildGroups", correct.rebuildGroups, {
  engine,
  options: s.rebuildOptions,
});
