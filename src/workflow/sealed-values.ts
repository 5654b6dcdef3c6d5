/**
 * What steps have captured is stored, so that another process can go on with it: with the names of secrets in the place
 * of their values, which the next process has from its own environment.
 */
import type { Json } from "../kit/json.ts";

export interface Sealer {
  seal(values: Readonly<Record<string, Json>>): Record<string, Json>;
  /** Makes sealed values whole again. */
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
    seal: (values) => mapTexts(values, seal) as Record<string, Json>,
    unseal: (values) => mapTexts(values, unseal) as Record<string, Json>,
  };
}

/** Control characters that no program prints around a name. */
function sealOf(name: string): string {
  return `\u0001secret ${name}\u0002`;
}

function mapTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((entry) => mapTexts(entry, change));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, entry]) => [change(key), mapTexts(entry, change)]);
  return Object.fromEntries(entries) as Json;
}
