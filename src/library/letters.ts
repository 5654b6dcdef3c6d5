/** Functions about letters and their groups for programs. Arguments are checked before anything is done. */
import { agentResultToDlqItem as letterUnchecked } from "../dead-letter/agent-result.ts";
import {
  readCapsule as readCapsuleUnchecked,
  writeCapsule as writeCapsuleUnchecked,
} from "../dead-letter/capsule.ts";
import { writeDirectory as writeDirectoryUnchecked } from "../dead-letter/directory.ts";
import { readDirectory as readDirectoryUnchecked } from "../dead-letter/directory-reader.ts";
import { exportLetters as exportUnchecked } from "../dead-letter/exchange/export.ts";
import { importLetters as importUnchecked } from "../dead-letter/exchange/import.ts";
import { readLetterStats as readStatsUnchecked } from "../dead-letter/stats.ts";
import { makeCapsule as makeCapsuleUnchecked } from "../job/capsule.ts";
import {
  mirrorAll as mirrorAllUnchecked,
  mirrorJob as mirrorJobUnchecked,
  refreshDirectory as refreshUnchecked,
} from "../job/mirror.ts";
import { continueEdit as continueEditUnchecked, editLetters as editUnchecked } from "../redrive/amend.ts";
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
import { requireGroup as requireGroupUnchecked } from "../redrive/find-group.ts";
import { listGroups as listGroupsUnchecked } from "../redrive/groups.ts";
import { continuePurge as continuePurgeUnchecked, purgeLetters as purgeUnchecked } from "../redrive/purge.ts";
import { rebuildGroups as rebuildUnchecked } from "../redrive/rebuild-groups.ts";
import { requeueLetters as requeueUnchecked } from "../redrive/requeue.ts";
import { countSelected as countUnchecked, selectLetters as selectUnchecked } from "../redrive/select.ts";
import { undoOperation as undoUnchecked } from "../redrive/undo.ts";
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

/** The letter of an agent's result, or null when it succeeded. */
export const agentResultToDlqItem = checkedNow(letterUnchecked, "agentResultToDlqItem", [
  ["result", agentResult],
  ["item", json],
  ["attempt", positive],
]);

/** The letters of the selection, one at a time, however many there are. */
export const selectLetters = checkedNow(selectUnchecked, "selectLetters", [
  ["engine", store],
  ["selection", selection],
  ["options", selectOptions.optional()],
]);

/** How many letters the selection has. */
export const countSelected = checked(countUnchecked, "countSelected", [
  ["engine", store],
  ["selection", selection],
]);

/** Why the letters of the selection died: groups, error types, when. */
export const analyseSelected = checked(analyseUnchecked, "analyseSelected", [
  ["engine", store],
  ["selection", selection],
  ["options", objectOf<{ sampledGroupsMax?: number }>({ sampledGroupsMax: positive.optional() }).optional()],
]);

/** The numbers of a queue's letters. */
export const readLetterStats = checked(readStatsUnchecked, "readLetterStats", [
  ["engine", store],
  ["queue", name],
]);

/** Writes letters to a file. */
export const exportLetters = checked(exportUnchecked, "exportLetters", [
  ["letters", asyncList],
  ["options", exportOptions],
]);

/** Reads letters from a file or a folder into the store. */
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

/** Reads the letters of such a folder. */
export const readDirectory = checkedNow(readDirectoryUnchecked, "readDirectory", [["folder", name]]);

/** Writes the letter directory of a job anew. */
export const mirrorJob = checked(mirrorJobUnchecked, "mirrorJob", [
  ["engine", store],
  ["job", job],
  ["place", directoryPlace],
]);

/** Writes the letter directories of all jobs anew. */
export const mirrorAll = checked(mirrorAllUnchecked, "mirrorAll", [
  ["engine", store],
  ["place", directoryPlace],
]);

/** Brings a letter directory that exists up to date. */
export const refreshDirectory = checked(refreshUnchecked, "refreshDirectory", [
  ["engine", store],
  ["job", job],
  ["place", changedDirectory],
]);

/** All that is needed to look at one letter elsewhere. */
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

/** Reads a capsule from its file. */
export const readCapsule = checked(readCapsuleUnchecked, "readCapsule", [["path", name]]);

/** Changes the data of letters; the data before is kept. */
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

/** Gives letters up, with a reason. They can be restored. */
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

/** Sends copies of letters as new items. */
export const requeueLetters = checked(requeueUnchecked, "requeueLetters", [
  ["engine", store],
  ["request", requeueRequest],
]);

/** Reverts an edit, a discard, a restore or a purge. */
export const undoOperation = checked(undoUnchecked, "undoOperation", [
  ["engine", store],
  ["operation", operation],
  [
    "options",
    objectOf<{ author: string; signal?: AbortSignal }>({ author: name, signal: signal.optional() }),
  ],
]);

/** Moves the letters of groups into another group, now and from now on. */
export const mergeGroups = checked(mergeUnchecked, "mergeGroups", [
  ["engine", store],
  ["request", mergeRequest],
  ["options", correctOptions],
]);

/** Moves the letters of a group that have a text into a group of their own, now and from now on. */
export const splitGroup = checked(splitUnchecked, "splitGroup", [
  ["engine", store],
  ["group", namedGroup],
  ["options", splitOptions],
]);

/** The group that the word means: a signature, its beginning, or the beginning of a pattern. */
export const requireGroup = checked(requireGroupUnchecked, "requireGroup", [
  ["engine", store],
  ["word", text],
]);

/** Groups over all queues, or of one. */
export const listGroups = checked(listGroupsUnchecked, "listGroups", [
  ["engine", store],
  ["query", groupQuery],
]);

/** Why a group is a group. */
export const explainGroup = checked(explainGroupUnchecked, "explainGroup", [
  ["engine", store],
  ["group", namedGroup],
  ["rules", groupRules],
]);

/** Why a letter is in its group. */
export const explainLetter = checked(explainLetterUnchecked, "explainLetter", [
  ["engine", store],
  ["letter", thing],
  ["rules", groupRules],
]);

/** Groups all letters anew. */
export const rebuildGroups = checked(rebuildUnchecked, "rebuildGroups", [
  ["engine", store],
  ["options", rebuildOptions],
]);
