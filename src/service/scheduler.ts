/** The service that adds the items of cron schedules. It may run in any number of processes; each run is added once. */
import { runSchedules } from "../queue/schedules.ts";
import { inRounds, type StartService } from "./service.ts";

/** How often the service checks for schedules that another process has created. */
const LOOK_MS = 5000;
const WAIT_MS_MIN = 50;

/** Waits until the next run, but checks for new schedules in between. */
export function scheduler(): StartService {
  return inRounds((_, { engine }) => ({
    startMs: 0,
    wakeMs: () => LOOK_MS,
    errorText: (reason) => `Schedules could not be run: ${reason}`,
    run: async ({ isLast }) => {
      if (isLast) return undefined;
      const next = await runSchedules(engine);
      if (next === null) return LOOK_MS;
      return Math.max(WAIT_MS_MIN, Math.min(LOOK_MS, next - (await engine.now())));
    },
  }));
}
