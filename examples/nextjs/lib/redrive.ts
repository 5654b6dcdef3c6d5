/** The queue, for routes and workers. The development server loads modules again after each change, but keeps `globalThis`. */
import { open, type Redrive } from "redrive";
import { z } from "zod";

export const invoice = z.object({ vat: z.string(), total: z.number() });

declare global {
  var redriveStore: Promise<Redrive> | undefined;
}

/** Opens the store when it is first used, not while the application is built. */
export async function invoices() {
  globalThis.redriveStore ??= open(process.env.REDRIVE_STORE);
  const redrive = await globalThis.redriveStore;
  return redrive.queue("invoices", { schema: invoice, retries: 3, unique: "return" });
}
