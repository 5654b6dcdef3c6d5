import { describe, expect, test } from "vitest";
import {
  admit,
  type Breaker,
  breakerOf,
  breakerWaitMs,
  type Report,
  report,
} from "../../src/retry/breaker.ts";
import { DEFAULT_BREAKER } from "../../src/retry/policy.ts";
import { fc } from "../support/properties.ts";

/** Drives a breaker and keeps its tickets; its state goes through JSON at every step, as through a store. */
class Driver {
  #state: Breaker = breakerOf(DEFAULT_BREAKER);
  nowMs = 0;

  get state(): Breaker {
    return this.#state;
  }
  get kind() {
    return this.#state.gate.kind;
  }
  admit(): number | undefined {
    const answer = admit(this.#state, this.nowMs);
    this.#keep(answer.state);
    return answer.admitted ? answer.ticket : undefined;
  }
  report(ticket: number, result: Report): void {
    this.#keep(report(this.#state, ticket, result, this.nowMs));
  }
  run(result: Report): boolean {
    const ticket = this.admit();
    if (ticket !== undefined) this.report(ticket, result);
    return ticket !== undefined;
  }
  #keep(state: Breaker): void {
    this.#state = JSON.parse(JSON.stringify(state)) as Breaker;
  }
}

function opened(): Driver {
  const driver = new Driver();
  for (let failures = 0; failures < 5; failures++) driver.run("failure");
  return driver;
}

function halfOpened(probes: number): { driver: Driver; tickets: number[] } {
  const driver = opened();
  driver.nowMs = 30_000;
  return { driver, tickets: Array.from({ length: probes }, () => driver.admit() ?? -1) };
}

describe("closed", () => {
  test("it opens after five failures in a row, not after four", () => {
    const driver = new Driver();
    for (const result of ["failure", "failure", "failure", "failure"] as const) driver.run(result);
    expect(driver.kind).toBe("closed");
    driver.run("failure");
    expect(driver.kind).toBe("open");
  });

  test("a success resets the count, a cancelled request does not", () => {
    const driver = new Driver();
    const results = ["failure", "failure", "success", "failure", "failure", "failure", "failure"] as const;
    for (const result of results) driver.run(result);
    driver.run("cancelled");
    expect(driver.kind).toBe("closed");
    driver.run("failure");
    expect(driver.kind).toBe("open");
  });
});

describe("open", () => {
  test("it admits nobody, and returns when it will", () => {
    const driver = opened();
    driver.nowMs = 29_999;
    expect(admit(driver.state, driver.nowMs)).toMatchObject({ admitted: false, retryAtMs: 30_000 });
    expect(breakerWaitMs(driver.state, driver.nowMs)).toBe(1);
    expect(breakerWaitMs(breakerOf(DEFAULT_BREAKER), 0)).toBe(0);
  });
});

describe("half open", () => {
  test("three probes are admitted, and no fourth", () => {
    const { driver, tickets } = halfOpened(3);
    expect(tickets).not.toContain(-1);
    expect(driver.kind).toBe("half_open");
    const refused = { state: driver.state, admitted: false, retryAtMs: 60_000 };
    expect(admit(driver.state, driver.nowMs)).toEqual(refused);
  });

  test("three successes close it", () => {
    const { driver, tickets } = halfOpened(3);
    for (const ticket of tickets) driver.report(ticket, "success");
    expect(driver.kind).toBe("closed");
    expect(driver.run("success")).toBe(true);
  });

  test("a failed probe opens it for another timeout", () => {
    const { driver, tickets } = halfOpened(1);
    driver.nowMs = 40_000;
    driver.report(tickets[0] ?? -1, "failure");
    expect(driver.state.gate).toEqual({ kind: "open", untilMs: 70_000 });
  });

  test("cancelled probes give their slots back, however often", () => {
    const { driver } = halfOpened(0);
    for (let round = 0; round < 100; round++) expect(driver.run("cancelled")).toBe(true);
    for (let successes = 0; successes < 3; successes++) driver.run("success");
    expect(driver.kind).toBe("closed");
  });

  test("pitfall 41: probes that never report, because their worker was killed, give their slots back after the timeout", () => {
    const { driver } = halfOpened(3);
    driver.nowMs = 59_999;
    expect(driver.admit()).toBeUndefined();
    driver.nowMs = 60_000;
    const probes = Array.from({ length: 4 }, () => driver.admit());
    expect(probes.filter((ticket) => ticket !== undefined)).toHaveLength(3);
    for (const ticket of probes.slice(0, 3)) driver.report(ticket ?? -1, "success");
    expect(driver.kind).toBe("closed");
  });

  test("a probe that takes longer than the timeout still counts", () => {
    const { driver, tickets } = halfOpened(3);
    driver.nowMs = 100_000;
    driver.admit();
    for (const ticket of tickets) driver.report(ticket, "success");
    expect(driver.kind).toBe("closed");
  });
});

describe("late results", () => {
  test("of requests from before it opened neither close it nor take a slot", () => {
    const driver = new Driver();
    const late = Array.from({ length: 5 }, () => driver.admit() ?? -1);
    for (let failures = 0; failures < 5; failures++) driver.run("failure");
    driver.nowMs = 30_000;
    driver.admit();
    const before = driver.state;
    for (const ticket of late) driver.report(ticket, "success");
    driver.report(late[0] ?? -1, "failure");
    expect(driver.state).toEqual(before);
  });

  test("of a probe of an earlier round do not count in the next", () => {
    const { driver, tickets } = halfOpened(2);
    driver.report(tickets[0] ?? -1, "failure");
    driver.nowMs = 60_000;
    driver.admit();
    driver.report(tickets[1] ?? -1, "failure");
    expect(driver.kind).toBe("half_open");
  });
});

test("it never sticks: whatever happened, once every ticket is back and time has passed, it admits somebody", () => {
  const steps = fc.array(
    fc.record({
      waitMs: fc.nat(40_000),
      result: fc.constantFrom<Report>("success", "failure", "cancelled"),
      keep: fc.boolean(),
    }),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(steps, (script) => {
      const driver = new Driver();
      const out: number[] = [];
      for (const { waitMs, result, keep } of script) {
        driver.nowMs += waitMs;
        const ticket = driver.admit();
        if (ticket === undefined) continue;
        if (keep) out.push(ticket);
        else driver.report(ticket, result);
        const { gate } = driver.state;
        if (gate.kind === "half_open") expect(gate.probesOut).toBeLessThanOrEqual(3);
      }
      for (const ticket of out) driver.report(ticket, "cancelled");
      driver.nowMs += 30_000;
      expect(driver.admit()).not.toBeUndefined();
    }),
  );
});
