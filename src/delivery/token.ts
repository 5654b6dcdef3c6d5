/** Reads the token of a target for every attempt, so that a new token needs no restart. Never stores or prints it. */
import { readFile } from "node:fs/promises";
import { RedriveError } from "../errors.ts";
import { maskerOf, SECRET_CHARS_MIN } from "../workflow/secrets.ts";
import type { TokenSource } from "./target-settings.ts";

export interface Token {
  readonly value: string;
  /** `isCut`: the text was truncated, possibly inside the token. */
  readonly mask: (text: string, isCut?: boolean) => string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns undefined when the target needs no token. Throws a `usage` error with the location of an unusable token. */
export async function readToken(
  source: TokenSource | undefined,
  env: Environment = process.env,
): Promise<Token | undefined> {
  if (source === undefined) return undefined;
  const value = ("env" in source ? fromEnvironment(source.env, env) : await fromFile(source.file)).trim();
  const shown = describeSource(source);
  if (value === "") throw unusable(shown, "it is empty");
  if (value.length < SECRET_CHARS_MIN)
    throw unusable(shown, `it has fewer than ${SECRET_CHARS_MIN} characters`);
  if (!/^[\x21-\x7e]+$/.test(value))
    throw unusable(shown, "it has characters that are not allowed in a header");
  if (last?.value !== value) last = tokenOf(value);
  return last;
}

/** Caches the last token, because most attempts use the same one. */
let last: Token | undefined;

function tokenOf(value: string): Token {
  const { mask, maskChunk } = maskerOf([value]);
  const maskCut = (text: string) =>
    Buffer.concat([...maskChunk([Buffer.from(text)], { cutBefore: false, cutAfter: true })]).toString();
  return { value, mask: (text, isCut = false) => (isCut ? maskCut(text) : mask(text)) };
}

export async function isStillToken(
  used: Token | undefined,
  source: TokenSource | undefined,
  env: Environment = process.env,
): Promise<boolean> {
  try {
    return (await readToken(source, env))?.value === used?.value;
  } catch (error) {
    if (error instanceof RedriveError) return true; // there is no new token to use instead
    throw error;
  }
}

function fromEnvironment(name: string, env: Environment): string {
  const value = env[name];
  if (value === undefined) throw unusable(describeSource({ env: name }), "it is not set");
  return value;
}

async function fromFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "it cannot be read";
    throw unusable(describeSource({ file: path }), code);
  }
}

function describeSource(source: TokenSource): string {
  return "env" in source ? `the environment variable ${source.env}` : `the file ${source.file}`;
}

function unusable(shown: string, why: string): RedriveError {
  return new RedriveError("usage", `The token in ${shown} cannot be used: ${why}.`, {
    hint: "Put the token there. Waiting receipts are then delivered; a token file needs no restart.",
  });
}
