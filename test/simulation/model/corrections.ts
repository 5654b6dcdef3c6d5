/** Corrections of people: which group letters belong to. Burials and regrouping obey them. */
import { type Correction, corrected } from "../../../src/item/group.ts";
import { assert } from "../../../src/std/assert.ts";
import { frozenCopy, type Store } from "./store.ts";

/** Replaces the correction with the same origin and text, and becomes the newest. */
export function correct(store: Store, correction: Omit<Correction, "at">): void {
  const { from, to, text } = correction;
  assert(from !== to, `group ${from} is corrected to itself`);
  assert(text !== "", `group ${from} is split by an empty text`);
  removeCorrection(store, from, text);
  store.corrections = [...store.corrections, frozenCopy({ ...correction, at: store.now })];
}

/** False if there is none. */
export function removeCorrection(store: Store, from: string, text?: string): boolean {
  const rest = store.corrections.filter((one) => one.from !== from || !isSameText(one.text, text));
  const isFound = rest.length < store.corrections.length;
  store.corrections = rest;
  return isFound;
}

function isSameText(a: string | undefined, b: string | undefined): boolean {
  return a?.toLowerCase() === b?.toLowerCase();
}

/** Oldest first. */
export function listCorrections(store: Store): readonly Correction[] {
  return [...store.corrections];
}

/** The group of a failure with this message, by the corrections and under the pattern of its signature. */
export function groupFor<Group extends { readonly signature: string; readonly pattern: string }>(
  store: Store,
  group: Group,
  message: string,
): Group {
  const found = corrected(group, message, store.corrections);
  return { ...found, pattern: store.records.get(found.signature)?.pattern ?? found.pattern };
}
