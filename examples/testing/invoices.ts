/** The code under test: a queue and its worker, which get the store as an argument. */
import { PermanentError, type Redrive } from "redrive";
import { z } from "zod";

export interface Bank {
  transfer(vat: string, total: number): Promise<void>;
}

export function startInvoices(redrive: Redrive, bank: Bank) {
  const invoices = redrive.queue("invoices", {
    schema: z.object({ vat: z.string(), total: z.number() }),
    retries: 2,
    backoff: "fixed:1m",
  });
  invoices.work(async ({ data }) => {
    if (data.vat === "") throw new PermanentError("no VAT id");
    await bank.transfer(data.vat, data.total);
    return { paid: data.total };
  });
  return invoices;
}
