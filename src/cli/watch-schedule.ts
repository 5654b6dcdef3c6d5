/** `--schedule` and `--time-zone`: they overrule what the settings say, and are refused when they mean nothing. */
import { WorkError } from "../errors.ts";
import { isTimeZone } from "../watch/quiet-hours.ts";
import { scheduleFault } from "../watch/schedule.ts";
import type { WatchSettings } from "../watch/settings.ts";

export interface ScheduleFlags {
  readonly schedule?: string;
  readonly timeZone?: string;
}

export async function withSchedule(settings: WatchSettings, flags: ScheduleFlags): Promise<WatchSettings> {
  const { schedule, timeZone } = flags;
  const fault = schedule === undefined ? null : await scheduleFault(schedule);
  if (fault !== null) throw new WorkError("usage", `--schedule: "${schedule}": ${fault}.`);
  if (timeZone !== undefined && !isTimeZone(timeZone))
    throw new WorkError("usage", `--time-zone: there is no time zone ${timeZone}.`, {
      hint: "Write one of the IANA database, such as Europe/Berlin, or UTC.",
    });
  return {
    ...settings,
    ...(schedule !== undefined && { schedule }),
    ...(timeZone !== undefined && { timeZone }),
  };
}
