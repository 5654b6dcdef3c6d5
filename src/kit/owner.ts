/** Whose something is: a process that can be told from a later one with the same id, and whether it is still there. */
import { processStart, thisHost } from "./process-identity.ts";

export interface Owner {
  readonly host: string;
  readonly pid: number;
  /** In the system's own words. */
  readonly processStart: string;
}

/** `here` runs on this machine; `unknown` is said of a process whose machine is another one. */
export type OwnerState = "here" | "gone" | "unknown";

export function thisOwner(): Owner {
  return { host: thisHost(), pid: process.pid, processStart: processStart(process.pid) ?? "" };
}

export function ownerState(owner: Owner): OwnerState {
  if (owner.host === thisHost()) {
    const start = processStart(owner.pid);
    return start !== null && (owner.processStart === "" || start === owner.processStart) ? "here" : "gone";
  }
  return hasRestarted(owner.host) ? "gone" : "unknown";
}

/** The same machine by name, but another boot: nothing that ran before is there. */
function hasRestarted(host: string): boolean {
  const [name, boot] = host.split("/");
  const [nameHere, bootHere] = thisHost().split("/");
  return name === nameHere && boot !== undefined && bootHere !== undefined && boot !== bootHere;
}
