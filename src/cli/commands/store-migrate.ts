/** `redrive store migrate`: brings the store to the newest version, and says from which. Opening it does the work. */
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";

export async function storeMigrate(context: Context): Promise<number> {
  const {
    location,
    foundVersion: from,
    schemaVersion: to,
  } = await context.withStore((engine) => engine.info(), { creates: true });
  context.answer({ location, from, to, migrated: from !== to }, () => {
    if (from === to) return `The store ${location} has the newest version, ${to}.\n`;
    if (from === 0) return `The store ${location} was made, with version ${to}.\n`;
    return `The store ${location} was brought from version ${from} to version ${to}.\n`;
  });
  return EXIT.done;
}
