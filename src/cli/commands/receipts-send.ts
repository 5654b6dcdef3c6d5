/** `redrive receipts send`: keeps receipts in the store, delivers them, and says what became of each. */
import { mirroringReceipts } from "../../job/receipts-mirror.ts";
import { parseDuration } from "../../kit/duration.ts";
import type { Context } from "../context.ts";
import { listenForInterrupts } from "../interrupt.ts";
import { lookingAfter } from "../looking-after.ts";
import { countOption } from "../option.ts";
import { type ReceiptInputFlags, receiptsFrom } from "../receipt-input.ts";
import { mirrorPath } from "../recover-for-person.ts";
import { sendForPerson } from "../send-for-person.ts";
import { sayAllSent, saySent } from "../sent-text.ts";

interface SendFlags extends ReceiptInputFlags {
  readonly order?: string;
  readonly wait?: string | boolean;
  readonly concurrency?: string;
  readonly mirror?: string;
}

export async function receiptsSend(context: Context, name: string, flags: SendFlags): Promise<number> {
  const waitMs = waitFrom(flags);
  const concurrency = countOption("--concurrency", flags.concurrency, 1);
  const mirror = flags.mirror === undefined ? [] : [mirroringReceipts(mirrorPath(context, flags.mirror))];
  const letters = await lookingAfter(context);
  const interrupt = listenForInterrupts(() => context.note("Not waiting any more: what was sent is kept."));
  const { signal } = interrupt;
  const plan = {
    ...{ name, waitMs, signal, receipts: receiptsFrom(context, flags, signal) },
    letters: { ...letters, companions: [...letters.companions, ...mirror] },
    ...(flags.order !== undefined && { order: flags.order }),
    ...(concurrency !== undefined && { concurrency }),
  };
  try {
    const sent = await context.withStore((engine) =>
      sendForPerson(context, engine, plan, (one) => saySent(context, one)),
    );
    const code = sayAllSent(context, name, sent);
    return interrupt.exitCode ?? code;
  } finally {
    interrupt.dispose();
  }
}

/** Null: not at all. */
function waitFrom({ wait }: SendFlags): number | null {
  if (wait === false) return null;
  return typeof wait === "string" ? parseDuration(wait, "--wait") : Number.POSITIVE_INFINITY;
}
