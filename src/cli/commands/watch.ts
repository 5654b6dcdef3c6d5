/** `redrive watch`: checks the queues and tells what is wrong, once or until it is told to end. */
import { requireSecrets } from "../../watch/channels/send.ts";
import { keepWatching } from "../../watch/keep-watching.ts";
import type { WatchSettings } from "../../watch/settings.ts";
import { Watcher } from "../../watch/watcher.ts";
import type { Context } from "../context.ts";
import { openExisting } from "../existing-store.ts";
import { EXIT } from "../exit-code.ts";
import { listenForInterrupts } from "../interrupt.ts";
import { ownCommands, requireTrust } from "../trust.ts";
import { type ScheduleFlags, withSchedule } from "../watch-schedule.ts";
import { checkToJson, dryRunText, onceText, WatchScreen } from "../watch-text.ts";

interface WatchFlags extends ScheduleFlags {
  readonly once?: boolean;
  readonly dryRun?: boolean;
}

export async function watch(context: Context, flags: WatchFlags): Promise<number> {
  const settings = await withSchedule((await context.config()).watch, flags);
  const { env } = context.terminal;
  const { storeUrl } = context;
  if (!flags.dryRun) {
    await requireTrust(context, ownCommands({ fixes: [], channels: settings.channels }));
    requireSecrets(settings.channels, env);
  }
  const screen = new WatchScreen(context);
  const open = () => openExisting(storeUrl);
  const watcher = new Watcher({ open, storeUrl, settings, env, onSent: (sent) => screen.sent(sent) });
  try {
    if (flags.dryRun) return await dryRun(context, watcher, settings);
    if (flags.once) return await once(context, watcher);
    const interrupt = listenForInterrupts(() => undefined);
    screen.begin(settings);
    await keepWatching(watcher, {
      settings,
      stop: interrupt.signal,
      onChecked: (found) => screen.checked(found),
    });
    interrupt.dispose();
    return EXIT.done;
  } finally {
    await watcher.close();
  }
}

async function dryRun(context: Context, watcher: Watcher, { channels }: WatchSettings): Promise<number> {
  const report = await watcher.preview();
  context.answer(checkToJson(report, { channels }), () => dryRunText(report, channels));
  return report.alerts.length > 0 ? EXIT.lettersLeft : EXIT.done;
}

async function once(context: Context, watcher: Watcher): Promise<number> {
  const report = await watcher.check();
  const sent = await report.sent;
  context.answer(checkToJson(report, { sent }), () => onceText(report));
  if (report.trouble !== undefined) return EXIT.storeUnavailable;
  if (report.alerts.length > 0) return EXIT.lettersLeft;
  return sent.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
}
