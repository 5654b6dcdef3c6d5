/** Quiet hours by the clock on the wall: over midnight, in another time zone, on the days on which the clock is changed. */
import { describe, expect, it } from "vitest";
import { isQuiet, isTimeZone, parseTimeOfDay, quietUntil } from "../../src/service/alert-schedule.ts";

const NIGHT = { from: 22 * 60, to: 7 * 60, timeZone: "Europe/Berlin" };
const time = (text: string) => Date.parse(text);

describe("quiet hours", () => {
  it("over midnight are quiet on both sides of it, and not after their end", () => {
    const quiet = ["21:59:59", "22:00:00", "23:59:00"].map((at) =>
      isQuiet(NIGHT, time(`2026-01-10T${at}+01:00`)),
    );
    expect(quiet).toEqual([false, true, true]);
    const morning = ["00:00:00", "06:59:59", "07:00:00"].map((at) =>
      isQuiet(NIGHT, time(`2026-01-11T${at}+01:00`)),
    );
    expect(morning).toEqual([true, true, false]);
  });

  it("within a day are quiet only between their ends", () => {
    const noon = { from: 12 * 60, to: 13 * 60 + 30, timeZone: "UTC" };
    const quiet = ["11:59", "12:00", "13:29", "13:30"].map((at) =>
      isQuiet(noon, time(`2026-01-10T${at}:00Z`)),
    );
    expect(quiet).toEqual([false, true, true, false]);
  });

  it.each([
    ["2026-01-10T23:10:20+01:00", "2026-01-11T07:00:00+01:00"],
    ["2026-03-28T23:00:00+01:00", "2026-03-29T07:00:00+02:00"], // an hour is left out in this night
    ["2026-10-24T23:00:00+02:00", "2026-10-25T07:00:00+01:00"], // an hour comes twice
  ])("that are on at %s end at %s", (at, end) => {
    expect(new Date(quietUntil(NIGHT, time(at))).toISOString()).toBe(new Date(end).toISOString());
  });

  it("are read from times of day", () => {
    expect(["22:30", "0:00", "24:00", "12:60", "noon"].map(parseTimeOfDay)).toEqual([
      1350,
      0,
      undefined,
      undefined,
      undefined,
    ]);
    expect(["Europe/Berlin", "UTC", "No/Where"].map(isTimeZone)).toEqual([true, true, false]);
  });
});
