/** When the next check is due, by a cron pattern in a time zone. */

/** The first time after the given one; null when there is none any more. */
export async function nextCheckAt(
  { schedule, timeZone }: { readonly schedule: string; readonly timeZone?: string },
  after: number,
): Promise<number | null> {
  const { Cron } = await import("croner");
  return (
    new Cron(schedule, { ...(timeZone && { timezone: timeZone }), paused: true })
      .nextRun(new Date(after))
      ?.getTime() ?? null
  );
}

/** What is wrong with a pattern; null when nothing is. */
export async function scheduleFault(schedule: string): Promise<string | null> {
  const { Cron } = await import("croner");
  try {
    const next = new Cron(schedule, { timezone: "UTC", paused: true }).nextRun();
    return next === null ? "it never comes" : null;
  } catch {
    // The library's own words are about its inside.
    return "expected a cron pattern of five fields (minute, hour, day, month, weekday), such as */30 * * * *";
  }
}
