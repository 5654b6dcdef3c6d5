/** Masks secrets in texts and byte streams, including their lines and their forms quoted for a shell, JSON or a URL. */
import type { Edges, OutputMask } from "../attempt/output.ts";
import { RedriveError } from "../errors.ts";
import type { Json } from "../std/json.ts";

const MASK = "***";
/** Shorter values occur in ordinary text, so masking them would damage it and reveal the value. */
export const SECRET_CHARS_MIN = 4;

export interface Masker {
  mask(text: string): string;
  /** Masks streams that may be binary or larger than memory. */
  readonly maskChunk: OutputMask;
}

/** Throws for values that are too short to be masked. Empty values are ignored. */
export function maskerOf(values: readonly string[]): Masker {
  const forms = formsOf(values.filter((value) => value !== ""));
  if (forms.length === 0) return { mask: (text) => text, maskChunk: (chunks) => chunks };
  const text = patternOf(forms);
  // Bytes are searched as Latin-1, where each byte is one character, so that binary output stays intact.
  const inBytes = longestFirst(forms.map((form) => Buffer.from(form).toString("latin1")));
  const bytes = { forms: inBytes, pattern: patternOf(inBytes), bytesMax: inBytes[0]?.length ?? 0 };
  return {
    mask: (shown) => shown.replace(text, MASK),
    maskChunk: (chunks, edges) => maskBytes(bytes, chunks, edges),
  };
}

/** Returns the values, their lines and the encodings of both, the longest first. */
function formsOf(values: readonly string[]): string[] {
  const short = values.find((value) => value.length < SECRET_CHARS_MIN);
  if (short !== undefined) {
    const message = `A secret of ${short.length} characters cannot be masked; it needs at least ${SECRET_CHARS_MIN}.`;
    throw new RedriveError("usage", message, { hint: "Leave it out of `secrets:`, or use a longer value." });
  }
  const lines = values.flatMap((value) => value.split(/\r?\n/));
  const plain = [...values, ...lines].filter((line) => line.trim().length >= SECRET_CHARS_MIN);
  const forms = plain.flatMap((value) => [value, ...encodingsOf(value)]);
  return longestFirst([...new Set(forms)]);
}

function encodingsOf(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  const inUrl = encodeURIComponent(Buffer.from(value).toString());
  return [
    inJson,
    JSON.stringify(inJson).slice(1, -1), // JSON inside a JSON string, as in an agent's log
    inUrl,
    inUrl.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase()),
    inUrl.replaceAll("%20", "+"),
    value.replaceAll("'", "'\\''"),
    value.replace(/[\\"$`]/g, "\\$&"), // inside the double quotes of a shell
  ];
}

function patternOf(forms: readonly string[]): RegExp {
  return new RegExp(forms.map((form) => form.replace(/[$()*+./?[\\\]^{|}-]/g, "\\$&")).join("|"), "g");
}

interface BytesPattern {
  readonly forms: readonly string[];
  readonly pattern: RegExp;
  readonly bytesMax: number;
}

function longestFirst(texts: readonly string[]): string[] {
  return [...texts].sort((one, other) => other.length - one.length);
}

/** Buffers as many bytes as the longest secret has, because a secret may span two chunks. */
function* maskBytes(secret: BytesPattern, chunks: Iterable<Buffer>, edges: Edges): Generator<Buffer> {
  let held = "";
  let isTorn = edges.cutBefore;
  for (const chunk of chunks) {
    held += chunk.toString("latin1");
    if (held.length < 2 * secret.bytesMax) continue;
    if (isTorn) held = maskTornStart(held, secret);
    isTorn = false;
    const { done, rest } = maskUpTo(held, held.length - secret.bytesMax, secret);
    held = rest;
    yield Buffer.from(done, "latin1");
  }
  if (isTorn) held = maskTornStart(held, secret);
  const end = edges.cutAfter ? maskTornEnd(held, secret) : held;
  if (end !== "") yield Buffer.from(end.replace(secret.pattern, MASK), "latin1");
}

/** Masks secrets that begin before `limit`: only these are certain to be complete and the longest match. */
function maskUpTo(text: string, limit: number, { pattern }: BytesPattern): { done: string; rest: string } {
  let done = "";
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index >= limit) break;
    done += text.slice(at, match.index) + MASK;
    at = match.index + match[0].length;
  }
  const end = Math.max(at, limit);
  return { done: done + text.slice(at, end), rest: text.slice(end) };
}

function maskTornStart(text: string, { forms }: BytesPattern): string {
  const bytes = longest(forms, (form, length) => text.startsWith(form.slice(-length)));
  return bytes === 0 ? text : MASK + text.slice(bytes);
}

function maskTornEnd(text: string, { forms }: BytesPattern): string {
  const bytes = longest(forms, (form, length) => text.endsWith(form.slice(0, length)));
  return bytes === 0 ? text : text.slice(0, -bytes) + MASK;
}

/** Returns the length of the longest part of any form for which `fits` is true, or 0. */
function longest(forms: readonly string[], fits: (form: string, length: number) => boolean): number {
  let found = 0;
  for (const form of forms) {
    for (let length = form.length; length >= Math.max(SECRET_CHARS_MIN, found + 1); length--) {
      if (fits(form, length)) found = length;
    }
  }
  return found;
}

export interface Sealer {
  seal(values: Readonly<Record<string, Json>>): Record<string, Json>;
  unseal(values: Readonly<Record<string, Json>>): Record<string, Json>;
}

/**
 * Replaces secrets with placeholders that contain their names, and vice versa. `mask` then removes encoded
 * forms, e.g. in a URL.
 */
export function sealerOf(
  secrets: readonly { readonly name: string; readonly value: string }[],
  mask: (text: string) => string,
): Sealer {
  const longestFirst = secrets
    .filter(({ value }) => value !== "")
    .sort((one, other) => other.value.length - one.value.length);
  const seal = (text: string) =>
    mask(longestFirst.reduce((sealed, { name, value }) => sealed.replaceAll(value, sealOf(name)), text));
  const unseal = (text: string) =>
    longestFirst.reduce((whole, { name, value }) => whole.replaceAll(sealOf(name), value), text);
  return {
    seal: (values) => mapTexts({ ...values }, seal, seal),
    unseal: (values) => mapTexts({ ...values }, unseal, unseal),
  };
}

/** Control characters around the name avoid collisions with printed text. */
function sealOf(name: string): string {
  return `\u0001secret ${name}\u0002`;
}

type Change = (text: string) => string;

/** Applies `change` to every string in the value, and `changeKey` to the keys of its objects. */
export function mapTexts<T>(value: T, change: Change, changeKey: Change = (key) => key): T {
  if (typeof value === "string") return change(value) as T;
  if (Array.isArray(value)) return value.map((entry) => mapTexts(entry, change, changeKey)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([key, one]) => [changeKey(key), mapTexts(one, change, changeKey)]),
  ) as T;
}
