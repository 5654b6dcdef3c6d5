import { hostname } from "node:os";
import { afterEach, describe, expect, it } from "vitest";
import type { Holder } from "../../src/engine.ts";
import { describeSelf, HOLDER_TTL_MS, isGone } from "../../src/lease/holder.ts";
import { deadPid, type LivingProcess, startOf, startProcess } from "./processes.ts";

describe("this process as a holder", () => {
  it("is described by machine, process and start", () => {
    const self = describeSelf("queue-1");
    expect(self).toMatchObject({ queue: "queue-1", pid: process.pid, ttlMs: HOLDER_TTL_MS });
    expect(self.id).toContain(`${hostname()}:${process.pid}:`);
    expect(self.host.startsWith(hostname())).toBe(true);
  });

  it.runIf(process.platform === "linux")("knows its own start, which tells a reused pid apart", () => {
    expect(describeSelf("queue-1").processStart).toBe(startOf(process.pid));
  });

  it("has a new id each time, because a holder that was taken for lost never returns", () => {
    expect(describeSelf("queue-1").id).not.toBe(describeSelf("queue-1").id);
  });

  it("can have another time to live", () => {
    expect(describeSelf("queue-1", 250).ttlMs).toBe(250);
  });
});

describe("whether a holder is gone", () => {
  const processes: LivingProcess[] = [];
  afterEach(async () => {
    for (const process of processes.splice(0)) await process.end();
  });

  it("this process is not", () => {
    expect(isGone(seen())).toBe(false);
  });

  it("a living process of this machine is not, and is as soon as it has died", async () => {
    const other = await startProcess();
    processes.push(other);
    const holder = seen({ pid: other.pid, processStart: "" });
    expect(isGone(holder)).toBe(false);
    await other.end();
    expect(isGone(holder)).toBe(true);
  });

  it("a dead process of this machine is, long before its heartbeats are missed", async () => {
    expect(isGone(seen({ pid: await deadPid() }))).toBe(true);
  });

  it("another process with the same pid does not stand in for it", async () => {
    const other = await startProcess();
    processes.push(other);
    expect(isGone(seen({ pid: other.pid, processStart: "1" }))).toBe(true);
  });

  it("one whose heartbeats have stopped is, on any machine", () => {
    expect(isGone(seen({ expired: true }))).toBe(true);
    expect(isGone(seen({ expired: true, host: "elsewhere" }))).toBe(true);
  });

  it("one of another machine is not because of its pid", async () => {
    expect(isGone(seen({ host: "elsewhere", pid: await deadPid() }))).toBe(false);
  });
});

/** Ourselves as the store would show us, with what the test changes. */
function seen(change: Partial<Holder> = {}): Holder {
  return { ...describeSelf("queue-1"), expiresAt: Number.MAX_SAFE_INTEGER, expired: false, ...change };
}
