/** Functions for library callers about letters and their groups, with argument checks. */
import { agentResultToDlqItem as letterUnchecked } from "../dead-letter/agent-result.ts";
import {
  readCapsule as readCapsuleUnchecked,
  writeCapsule as writeCapsuleUnchecked,
} from "../dead-letter/capsule.ts";
import { writeDirectory as writeDirectoryUnchecked } from "../dead-letter/directory.ts";
import { readDirectory as readDirectoryUnchecked } from "../dead-letter/directory-reader.ts";
import { exportLetters as exportUnchecked } from "../dead-letter/import-export/export.ts";
import { importLetters as importUnchecked } from "../dead-letter/import-export/import.ts";
import { makeCapsule as makeCapsuleUnchecked } from "../dead-letter/make-capsule.ts";
import { readLetterStats as readStatsUnchecked } from "../dead-letter/stats.ts";
import {
  continueEdit as continueEditUnchecked,
  editLetters as editUnchecked,
  requeueLetters as requeueUnchecked,
} from "../redrive/amend.ts";
import { analyseSelected as analyseUnchecked } from "../redrive/analyse-selected.ts";
import { mergeGroups as mergeUnchecked, splitGroup as splitUnchecked } from "../redrive/correct-groups.ts";
import {
  continueDiscard as continueDiscardUnchecked,
  discardLetters as discardUnchecked,
  restoreLetters as restoreUnchecked,
} from "../redrive/discard.ts";
import {
  explainGroup as explainGroupUnchecked,
  explainLetter as explainLetterUnchecked,
} from "../redrive/explain-group.ts";
import {
  listGroups as listGroupsUnchecked,
  requireGroup as requireGroupUnchecked,
} from "../redrive/groups.ts";
import { continuePurge as continuePurgeUnchecked, purgeLetters as purgeUnchecked } from "../redrive/purge.ts";
import { rebuildGroups as rebuildUnchecked } from "../redrive/rebuild-groups.ts";
import { countSelected as countUnchecked, selectLetters as selectUnchecked } from "../redrive/select.ts";
import { undoOperation as undoUnchecked } from "../redrive/undo.ts";
import {
  mirrorAll as mirrorAllUnchecked,
  mirrorJob as mirrorJobUnchecked,
  refreshDirectory as refreshUnchecked,
} from "../service/letter-directory.ts";
import { checked, checkedNow } from "./checked.ts";
import {
  asyncList,
  groupRules,
  job,
  json,
  name,
  objectOf,
  operation,
  positive,
  signal,
  store,
  text,
  thing,
  time,
} from "./common-schemas.ts";
import {
  capsuleOptions,
  changedDirectory,
  correctOptions,
  directoryPlace,
  groupQuery,
  mergeRequest,
  namedGroup,
  rebuildOptions,
  splitOptions,
} from "./job-schemas.ts";
import {
  agentResult,
  discardRequest,
  editRequest,
  exportOptions,
  importOptions,
  purgeRequest,
  requeueRequest,
  restoreRequest,
  selection,
  selectOptions,
} from "./letter-schemas.ts";

/** Converts an agent's result into a letter; null if it succeeded. */
export const agentResultToDlqItem = checkedNow(letterUnchecked, "agentResultToDlqItem", [
  ["result", agentResult],
  ["item", json],
  ["attempt", positive],
]);

/** Reads the letters of a selection, one at a time. */
export const selectLetters = checkedNow(selectUnchecked, "selectLetters", [
  ["engine", store],
  ["selection", selection],
  ["options", selectOptions.optional()],
]);

/** Counts the letters of a selection. */
export const countSelected = checked(countUnchecked, "countSelected", [
  ["engine", store],
  ["selection", selection],
]);

/** Analyses why the letters of a selection died: groups, error types and times. */
export const analyseSelected = checked(analyseUnchecked, "analyseSelected", [
  ["engine", store],
  ["selection", selection],
  ["options", objectOf<{ sampledGroupsMax?: number }>({ sampledGroupsMax: positive.optional() }).optional()],
]);

/** The statistics of a queue's letters. */
export const readLetterStats = checked(readStatsUnchecked, "readLetterStats", [
  ["engine", store],
  ["queue", name],
]);

/** Exports letters to a file. */
export const exportLetters = checked(exportUnchecked, "exportLetters", [
  ["letters", asyncList],
  ["options", exportOptions],
]);

/** Imports letters from a file or a folder. */
export const importLetters = checked(importUnchecked, "importLetters", [
  ["engine", store],
  ["path", name],
  ["options", importOptions.optional()],
]);

/** Writes letters as a folder of files. */
export const writeDirectory = checked(writeDirectoryUnchecked, "writeDirectory", [
  ["root", name],
  ["letters", asyncList],
  ["options", objectOf<{ now: number }>({ now: time })],
]);

/** Reads the letters of a folder written by `writeDirectory`. */
export const readDirectory = checkedNow(readDirectoryUnchecked, "readDirectory", [["folder", name]]);

/** Rewrites the letter directory of a job. */
export const mirrorJob = checked(mirrorJobUnchecked, "mirrorJob", [
  ["engine", store],
  ["job", job],
  ["place", directoryPlace],
]);

/** Rewrites the letter directories of all jobs. */
export const mirrorAll = checked(mirrorAllUnchecked, "mirrorAll", [
  ["engine", store],
  ["place", directoryPlace],
]);

/** Updates an existing letter directory. */
export const refreshDirectory = checked(refreshUnchecked, "refreshDirectory", [
  ["engine", store],
  ["job", job],
  ["place", changedDirectory],
]);

/** Collects everything needed to examine a letter on another machine. */
export const makeCapsule = checked(makeCapsuleUnchecked, "makeCapsule", [
  ["engine", store],
  ["letter", thing],
  ["options", capsuleOptions],
]);

/** Writes a capsule to a file; returns its size in bytes. */
export const writeCapsule = checked(writeCapsuleUnchecked, "writeCapsule", [
  ["path", name],
  ["capsule", thing],
]);

/** Reads a capsule from a file. */
export const readCapsule = checked(readCapsuleUnchecked, "readCapsule", [["path", name]]);

/** Edits the data of letters. Earlier revisions are kept. */
export const editLetters = checked(editUnchecked, "editLetters", [
  ["engine", store],
  ["request", editRequest],
]);

const continueOptions = objectOf<{ signal?: AbortSignal }>({ signal: signal.optional() });

/** Resumes an edit. */
export const continueEdit = checked(continueEditUnchecked, "continueEdit", [
  ["engine", store],
  ["operation", operation],
  ["options", continueOptions.optional()],
]);

/** Discards letters with a reason. They can be restored. */
export const discardLetters = checked(discardUnchecked, "discardLetters", [
  ["engine", store],
  ["request", discardRequest],
]);

/** Makes discarded letters dead again. */
export const restoreLetters = checked(restoreUnchecked, "restoreLetters", [
  ["engine", store],
  ["request", restoreRequest],
]);

/** Resumes a discard or a restore. */
export const continueDiscard = checked(continueDiscardUnchecked, "continueDiscard", [
  ["engine", store],
  ["operation", operation],
  ["options", continueOptions.optional()],
]);

/** Archives letters, then deletes them. */
export const purgeLetters = checked(purgeUnchecked, "purgeLetters", [
  ["engine", store],
  ["request", purgeRequest],
]);

/** Resumes a purge. */
export const continuePurge = checked(continuePurgeUnchecked, "continuePurge", [
  ["engine", store],
  ["operation", operation],
  ["options", objectOf<{ home: string; signal?: AbortSignal }>({ home: name, signal: signal.optional() })],
]);

/** Requeues letters as new items. */
export const requeueLetters = checked(requeueUnchecked, "requeueLetters", [
  ["engine", store],
  ["request", requeueRequest],
]);

/** Undoes an edit, a discard, a restore or a purge. */
export const undoOperation = checked(undoUnchecked, "undoOperation", [
  ["engine", store],
  ["operation", operation],
  [
    "options",
    objectOf<{ author: string; signal?: AbortSignal }>({ author: name, signal: signal.optional() }),
  ],
]);

/** Merges groups, also for later failures. */
export const mergeGroups = checked(mergeUnchecked, "mergeGroups", [
  ["engine", store],
  ["request", mergeRequest],
  ["options", correctOptions],
]);

/** Moves failures whose message contains a text into a group of their own, also later ones. */
export const splitGroup = checked(splitUnchecked, "splitGroup", [
  ["engine", store],
  ["group", namedGroup],
  ["options", splitOptions],
]);

/** Finds a group by its signature, the beginning of it, or its name. */
export const requireGroup = checked(requireGroupUnchecked, "requireGroup", [
  ["engine", store],
  ["word", text],
]);

/** Lists the groups of all queues, or of one. */
export const listGroups = checked(listGroupsUnchecked, "listGroups", [
  ["engine", store],
  ["query", groupQuery],
]);

/** Explains how a group was formed. */
export const explainGroup = checked(explainGroupUnchecked, "explainGroup", [
  ["engine", store],
  ["group", namedGroup],
  ["rules", groupRules],
]);

/** Explains why a letter is in its group. */
export const explainLetter = checked(explainLetterUnchecked, "explainLetter", [
  ["engine", store],
  ["letter", thing],
  ["rules", groupRules],
]);

/** Recomputes the groups of all letters. */
export const rebuildGroups = checked(rebuildUnchecked, "rebuildGroups", [
  ["engine", store],
  ["options", rebuildOptions],
]);
