/** The token of a target, read for every attempt, so that a new one needs no restart. It is never stored or shown. */
import { readFile } from "node:fs/promises";
import { WorkError } from "../errors.ts";
import { maskerOf, SECRET_CHARS_MIN } from "../workflow/secrets.ts";
import type { TokenSource } from "./target-settings.ts";

/** A token as it is now, and what takes it out of a text. */
export interface Token {
  readonly value: string;
  /** `isCut`: the text broke off, perhaps in the middle of the token. */
  readonly mask: (text: string, isCut?: boolean) => string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined when the target needs none. A token that cannot be read or sent is a `usage` error with its location. */
export async function readToken(
  source: TokenSource | undefined,
  env: Environment = process.env,
): Promise<Token | undefined> {
  if (source === undefined) return undefined;
  const value = ("env" in source ? fromEnvironment(source.env, env) : await fromFile(source.file)).trim();
  const place = placeOf(source);
  if (value === "") throw unusable(place, "it is empty");
  if (value.length < SECRET_CHARS_MIN)
    throw unusable(place, `it has fewer than ${SECRET_CHARS_MIN} characters`);
  if (!/^[\x21-\x7e]+$/.test(value)) throw unusable(place, "it has characters that a header cannot have");
  if (last?.value !== value) last = tokenOf(value);
  return last;
}

/** Most attempts use the token of the one before. */
let last: Token | undefined;

function tokenOf(value: string): Token {
  const { mask, maskChunk } = maskerOf([value]);
  const maskCut = (text: string) =>
    Buffer.concat([...maskChunk([Buffer.from(text)], { cutBefore: false, cutAfter: true })]).toString();
  return { value, mask: (text, isCut = false) => (isCut ? maskCut(text) : mask(text)) };
}

/** The value is the same as that of the one that was used. */
export async function isStillToken(
  used: Token | undefined,
  source: TokenSource | undefined,
  env: Environment = process.env,
): Promise<boolean> {
  try {
    return (await readToken(source, env))?.value === used?.value;
  } catch (error) {
    if (error instanceof WorkError) return true; // there is no better one
    throw error;
  }
}

function fromEnvironment(name: string, env: Environment): string {
  const value = env[name];
  if (value === undefined) throw unusable(placeOf({ env: name }), "it is not set");
  return value;
}

async function fromFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "it cannot be read";
    throw unusable(placeOf({ file: path }), code);
  }
}

function placeOf(source: TokenSource): string {
  return "env" in source ? `the environment variable ${source.env}` : `the file ${source.file}`;
}

function unusable(place: string, why: string): WorkError {
  return new WorkError("usage", `The token in ${place} cannot be used: ${why}.`, {
    hint: "Put the token there; what waits is delivered then, without a restart where it is a file.",
  });
}
