/** Masks secrets in texts and byte streams, also when they are quoted for a shell, JSON or a URL, and line by line. */
import type { Edges, OutputMask } from "../attempt/output.ts";
import { WorkError } from "../errors.ts";
import type { Json } from "../std/json.ts";

export const MASK = "***";
/** Replacing anything shorter would tear ordinary text apart and tell where it stood. */
export const SECRET_CHARS_MIN = 4;

export interface Masker {
  mask(text: string): string;
  /** For output that may be larger than memory, or no text at all. */
  readonly maskChunk: OutputMask;
}

/** Refuses values that are too short to be masked. An empty one hides nothing and is passed over. */
export function maskerOf(values: readonly string[]): Masker {
  const forms = formsOf(values.filter((value) => value !== ""));
  if (forms.length === 0) return { mask: (text) => text, maskChunk: (chunks) => chunks };
  const text = patternOf(forms);
  // Bytes are searched as Latin-1, where each byte is one character, so that binary output passes unharmed.
  const bytes = bytesPatternOf(forms.map((form) => Buffer.from(form).toString("latin1")));
  return {
    mask: (shown) => shown.replace(text, MASK),
    maskChunk: (chunks, edges) => maskBytes(bytes, chunks, edges),
  };
}

/** Every way in which a value may be written, the longest first. */
function formsOf(values: readonly string[]): string[] {
  for (const value of values) if (value.length < SECRET_CHARS_MIN) throw tooShort(value.length);
  const lines = values.flatMap((value) => value.split(/\r?\n/));
  const plain = [...values, ...lines].filter((line) => line.trim().length >= SECRET_CHARS_MIN);
  const forms = plain.flatMap((value) => [value, ...encodingsOf(value)]);
  return [...new Set(forms)].sort((one, other) => other.length - one.length);
}

function encodingsOf(value: string): string[] {
  const inJson = JSON.stringify(value).slice(1, -1);
  const inUrl = encodeURIComponent(Buffer.from(value).toString());
  return [
    inJson,
    JSON.stringify(inJson).slice(1, -1), // a JSON text inside a JSON text, as in an agent's log
    inUrl,
    inUrl.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase()),
    inUrl.replaceAll("%20", "+"),
    value.replaceAll("'", "'\\''"),
    value.replace(/[\\"$`]/g, "\\$&"), // in double quotes of a shell
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

function bytesPatternOf(forms: readonly string[]): BytesPattern {
  const sorted = [...forms].sort((one, other) => other.length - one.length);
  return { forms: sorted, pattern: patternOf(sorted), bytesMax: sorted[0]?.length ?? 0 };
}

/** Holds back as much as the longest secret, because the next chunk may complete one. */
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

/** Only a secret that begins before `limit` is sure to be there whole, and to be the longest that fits. */
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

/** The length of the longest part of any form that fits, 0 when none does. */
function longest(forms: readonly string[], fits: (form: string, length: number) => boolean): number {
  let found = 0;
  for (const form of forms) {
    for (let length = form.length; length >= Math.max(SECRET_CHARS_MIN, found + 1); length--) {
      if (fits(form, length)) found = length;
    }
  }
  return found;
}

function tooShort(length: number): WorkError {
  const message = `A secret of ${length} characters cannot be masked; it needs at least ${SECRET_CHARS_MIN}.`;
  const hint = "Leave it out of `secrets:`, or use a longer value.";
  return new WorkError("usage", message, { hint });
}

export interface Sealer {
  seal(values: Readonly<Record<string, Json>>): Record<string, Json>;
  unseal(values: Readonly<Record<string, Json>>): Record<string, Json>;
}

/** `mask` takes out what is left of a secret in another writing, e.g. that of a URL. */
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

/** Control characters that no program prints around a name. */
function sealOf(name: string): string {
  return `\u0001secret ${name}\u0002`;
}

type Change = (text: string) => string;

/** Changes every text in the value, and the keys of its objects if `changeKey` is given. */
export function mapTexts<T>(value: T, change: Change, changeKey: Change = (key) => key): T {
  if (typeof value === "string") return change(value) as T;
  if (Array.isArray(value)) return value.map((entry) => mapTexts(entry, change, changeKey)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([key, one]) => [changeKey(key), mapTexts(one, change, changeKey)]),
  ) as T;
}
