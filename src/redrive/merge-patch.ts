/** JSON merge patch (RFC 7396): an object changes the fields it names, null takes one away, anything else replaces all. */
import { isJsonObject, type Json, type JsonObject } from "../kit/json.ts";

/** The target as the patch makes it; neither is changed. */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const fields = new Map<string, Json>(isJsonObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) fields.delete(name);
    else fields.set(name, mergePatch(fields.get(name) ?? null, value));
  }
  return Object.fromEntries(fields) as JsonObject;
}
