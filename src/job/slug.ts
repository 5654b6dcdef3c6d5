/** A short name for an id, from whatever the user called the thing. */
import { basename } from "node:path";

export function slugOf(text: string, otherwise = "job"): string {
  const slug = basename(text)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 24);
  return slug || otherwise;
}
