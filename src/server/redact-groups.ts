/**
 * Masks titles and patterns of groups. They are derived from messages of letters, so they contain hidden
 * values that the letters share. The hidden values of some of the group's letters are masked; if a group has
 * no letters left, all of its text is.
 */
import type { Engine } from "../engine.ts";
import { LETTER_STATES } from "../item/state.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";

/**
 * How many of a group's newest and oldest letters are read for their hidden values. The pattern usually comes
 * from the oldest one.
 */
const LETTERS_MAX = 10;
const PATTERN_KEYS = ["title", "pattern", "error_pattern", "computed_pattern", "location"] as const;

/** The hidden values of groups' letters, by signature. */
export type GroupValues = ReadonlyMap<string, readonly string[]>;

export const NO_GROUPS: GroupValues = new Map();

/** The signature, if the document contains the pattern of a group; undefined for other documents and for letters. */
function signatureOf(value: JsonObject): string | undefined {
  if (typeof value.pattern !== "string" && typeof value.error_pattern !== "string") return undefined;
  const { signature, error_signature: own, to } = value;
  return [signature, own, to].find((one) => typeof one === "string") ?? "";
}

/** Masks the texts of a document that describe a group. */
export function maskGroupTexts(
  value: JsonObject,
  groups: GroupValues,
  mask: (text: string, values: readonly string[]) => string,
): JsonObject {
  const signature = signatureOf(value);
  if (signature === undefined) return value;
  const values = groups.get(signature);
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      const isText = (PATTERN_KEYS as readonly string[]).includes(key) && typeof one === "string";
      if (!isText) return [key, one];
      return [key, values === undefined ? typeOnly(one) : mask(one, values)];
    }),
  ) as JsonObject;
}

/** Keeps only the error type, which is one of a fixed list. */
function typeOnly(text: string): string {
  const type = /^[A-Z][A-Za-z]+(?=::)/.exec(text)?.[0];
  return type === undefined ? "[redacted]" : `${type}::[redacted]`;
}

/** Reads the hidden values of some letters of each group in the document. */
export async function readGroupValues(
  engine: Engine,
  document: Json,
  valuesOf: (data: Json) => readonly string[],
): Promise<GroupValues> {
  const signatures = new Set<string>();
  collectSignatures(document, signatures);
  const found = new Map<string, readonly string[]>();
  for (const signature of signatures) {
    const ask = (order: "oldest" | "newest") =>
      engine.listLetters({
        ...{ signatures: [signature], states: LETTER_STATES, limit: LETTERS_MAX },
        ...{ order, parts: ["data", "additions"], counted: false },
      });
    const letters = [...(await ask("oldest")).letters, ...(await ask("newest")).letters];
    if (letters.length === 0) continue;
    const former = letters.flatMap(({ amendments = [] }) => amendments.map(({ before }) => before));
    const values = new Set([...letters.map(({ itemData }) => itemData), ...former].flatMap(valuesOf));
    found.set(
      signature,
      [...values].sort((a, b) => b.length - a.length),
    );
  }
  return found;
}

function collectSignatures(value: Json, into: Set<string>): void {
  if (Array.isArray(value)) for (const one of value) collectSignatures(one as Json, into);
  if (!isJsonObject(value)) return;
  const signature = signatureOf(value);
  if (signature) into.add(signature);
  for (const one of Object.values(value)) collectSignatures(one as Json, into);
}
