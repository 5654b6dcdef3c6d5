/**
 * Simulated machines for tests: network namespaces, each with its own link and host name. Links can be taken down or drop
 * all packets. Linux and root only; the creator removes them.
 */
import { execFileSync } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";

/** Why this machine cannot create them; undefined if it can. */
export function whyNoHosts(): string | undefined {
  if (process.platform !== "linux") return "network namespaces are Linux's";
  if (process.getuid?.() !== 0) return "only root may make network namespaces";
  const name = `rd-try-${randomBytes(3).toString("hex")}`;
  try {
    ip("netns", "add", name);
    execFileSync("ip", ["netns", "exec", name, "unshare", "--uts", "true"], { stdio: "pipe" });
    return undefined;
  } catch (error) {
    return `no network namespace can be made: ${String(error).split("\n")[0]}`;
  } finally {
    tryIp("netns", "delete", name);
  }
}

export class NetworkHosts {
  readonly hosts: readonly NetworkHost[];

  constructor(names: readonly string[]) {
    const id = randomBytes(3).toString("hex");
    const network = `10.${randomInt(128, 256)}.${randomInt(256)}`;
    this.hosts = names.map((name, index) => new NetworkHost(name, { id: `${id}${index}`, network, index }));
  }

  /** The networks of the hosts, and (below) the addresses by which they reach this machine. */
  get networks(): readonly string[] {
    return this.hosts.map(({ network }) => network);
  }

  get addresses(): readonly string[] {
    return this.hosts.map(({ gateway }) => gateway);
  }

  remove(): void {
    for (const host of this.hosts) host.remove();
  }
}

/** A MAC address that no interface has. */
const NOWHERE = "02:00:00:00:00:99";

export class NetworkHost {
  readonly name: string;
  readonly network: string;
  /** The address of this machine as seen from the host. */
  readonly gateway: string;
  readonly #address: string;
  readonly #namespace: string;
  /** The two ends of the link: on this machine and on the host. */
  readonly #ours: string;
  readonly #theirs: string;

  constructor(
    name: string,
    place: { readonly id: string; readonly network: string; readonly index: number },
  ) {
    const { id, network, index } = place;
    const at = (step: number) => `${network}.${index * 4 + step}`;
    this.name = name;
    this.network = `${at(0)}/30`;
    [this.gateway, this.#address] = [at(1), at(2)];
    [this.#namespace, this.#ours, this.#theirs] = [`rd-${id}`, `rdo${id}`, `rdt${id}`];
    ip("netns", "add", this.#namespace);
    ip("link", "add", this.#ours, "type", "veth", "peer", "name", this.#theirs, "netns", this.#namespace);
    ip("address", "add", `${this.gateway}/30`, "dev", this.#ours);
    ip("link", "set", this.#ours, "up");
    ip("-n", this.#namespace, "address", "add", `${this.#address}/30`, "dev", this.#theirs);
    ip("-n", this.#namespace, "link", "set", this.#theirs, "up");
  }

  /** Returns the command that runs the program on the host, under the pid of the started process. */
  words(program: readonly string[]): readonly string[] {
    const begin = 'echo "$0" >/proc/sys/kernel/hostname && exec "$@"';
    const inside = ["unshare", "--uts", "sh", "-c", begin, this.name, ...program];
    return ["ip", "netns", "exec", this.#namespace, ...inside];
  }

  unplug(): void {
    ip("-n", this.#namespace, "link", "set", this.#theirs, "down");
  }

  plugIn(): void {
    ip("-n", this.#namespace, "link", "set", this.#theirs, "up");
  }

  /** Drops all packets of the link in both directions without an error. */
  swallow(): void {
    const lost = ["lladdr", NOWHERE, "nud", "permanent"];
    ip("neighbour", "replace", this.#address, "dev", this.#ours, ...lost);
    ip("-n", this.#namespace, "neighbour", "replace", this.gateway, "dev", this.#theirs, ...lost);
  }

  letThrough(): void {
    ip("neighbour", "delete", this.#address, "dev", this.#ours);
    ip("-n", this.#namespace, "neighbour", "delete", this.gateway, "dev", this.#theirs);
  }

  /** Limits both directions of the link to a rate such as `256kbit`; without one the limit ends. */
  slowDown(rate: string | undefined): void {
    const limit = (words: readonly string[], device: string) => {
      const [first = "", ...rest] = [...words, "tc", "qdisc"];
      const run = (...more: string[]) => execFileSync(first, [...rest, ...more], { stdio: "pipe" });
      if (rate === undefined) run("delete", "dev", device, "root");
      else
        run(
          ...["replace", "dev", device, "root", "tbf", "rate", rate, "burst", "16kbit", "latency", "400ms"],
        );
    };
    limit([], this.#ours);
    limit(["ip", "netns", "exec", this.#namespace], this.#theirs);
  }

  remove(): void {
    tryIp("link", "delete", this.#ours);
    tryIp("netns", "delete", this.#namespace);
  }
}

function ip(...words: readonly string[]): void {
  execFileSync("ip", words, { stdio: "pipe" });
}

function tryIp(...words: readonly string[]): void {
  try {
    ip(...words);
  } catch {
    // It was never created, or was removed together with the other end.
  }
}
