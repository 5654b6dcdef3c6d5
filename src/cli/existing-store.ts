/** Opens a store that is there. For those who look at it from outside: one that is not there has no numbers, and a new one would have false zeros. */
import type { Engine } from "../engine.ts";
import { openStore } from "../engines/open.ts";
import { WorkError } from "../errors.ts";

/** `store_unavailable` when there is none: it may come, with the first worker. */
export async function openExisting(url: string): Promise<Engine> {
  try {
    return await openStore(url, { mustExist: true });
  } catch (error) {
    if (!(error instanceof WorkError) || error.code !== "input_invalid") throw error;
    throw new WorkError("store_unavailable", error.message, {
      cause: error,
      hint: "Check --store and REDRIVE_STORE. The first queue or job makes the store.",
    });
  }
}
