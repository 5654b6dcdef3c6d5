/** Pays one invoice, which it reads from stdin. A stand-in for a bank, which needs no network. */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";

const { REDRIVE_FAILURE_FILE, REDRIVE_NOTES_FILE, REDRIVE_RESULT_FILE } = process.env;
const { id, supplier, vat, total } = JSON.parse(readFileSync(0, "utf8"));

if (!vat)
  fail({ type: "BusinessException", message: `${supplier} has no VAT id`, flow: "pay", subflow: "check" });
if (total > 500 && !existsSync("bank.open")) {
  writeFileSync(`screen-${id}.txt`, "503: the bank is closed\n");
  fail({
    type: "ITException",
    message: "the bank does not answer",
    flow: "pay",
    subflow: "transfer",
    evidence: [`screen-${id}.txt`],
  });
}
appendFileSync(REDRIVE_NOTES_FILE, `paid to the account of ${supplier}\n`);
writeFileSync(REDRIVE_RESULT_FILE, JSON.stringify({ paid: total }));
console.log(`${id}: ${total} paid to ${supplier}`);

/** Tells why, in the file that Redrive reads, and ends. */
function fail(report) {
  writeFileSync(REDRIVE_FAILURE_FILE, JSON.stringify(report));
  process.exit(1);
}
