/** Works the items, in a process beside the server: node worker.ts */
import { PermanentError } from "redrive";
import { invoices } from "./lib/redrive.ts";

const queue = await invoices();
const worker = queue.work(({ data }) => {
  if (data.vat === "") throw new PermanentError("no VAT id");
  return { paid: data.total };
});

process.once("SIGTERM", () => worker.drain());
