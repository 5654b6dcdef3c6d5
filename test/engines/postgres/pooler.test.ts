/** PgBouncer in transaction mode: it is found, what it cannot carry is left out, and the rest works. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPostgresEngine } from "../../../src/engines/postgres/open.ts";
import { randomName } from "../../../src/std/random.ts";
import { dropSchema, postgresServerUrl, postgresUrl } from "../../support/postgres-stores.ts";
import { buried, succeeded } from "../../support/settlements.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";
import { until } from "../../support/until.ts";

const NOBODY = 65_534;
const QUEUE = "q";

function hasPgBouncer(): boolean {
  try {
    execFileSync("pgbouncer", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false; // not installed
  }
}

const isThere = hasPgBouncer();

describe.skipIf(!isThere)(
  `behind PgBouncer${isThere ? "" : " (skipped: pgbouncer is not installed)"}`,
  () => {
    const directory = new TemporaryDirectory();
    const schema = `test_${randomName(10)}`;
    let bouncer: ChildProcess;
    let port: number;

    beforeAll(async () => {
      const server = new URL(postgresServerUrl());
      port = await freePort();
      const config = directory.file("pgbouncer.ini");
      const users = directory.file("users.txt");
      writeFileSync(users, `"${server.username}" ""\n`);
      writeFileSync(
        config,
        [
          "[databases]",
          `* = host=${server.hostname} port=${server.port || 5432}`,
          "[pgbouncer]",
          "listen_addr = 127.0.0.1",
          `listen_port = ${port}`,
          "unix_socket_dir =",
          "auth_type = trust",
          `auth_file = ${users}`,
          "pool_mode = transaction",
          "default_pool_size = 3",
          "",
        ].join("\n"),
      );
      const isRoot = process.getuid?.() === 0;
      chmodSync(directory.path, 0o755);
      for (const file of [config, users]) if (isRoot) chownSync(file, NOBODY, NOBODY);
      bouncer = spawn("pgbouncer", ["-q", config], {
        stdio: "ignore",
        ...(isRoot && { uid: NOBODY, gid: NOBODY }),
      });
      await until("PgBouncer listens", () => canConnect(port));
      expect(server.pathname).not.toBe("");
    });

    afterAll(async () => {
      bouncer.kill();
      await dropSchema(schema);
      directory.remove();
    });

    const bounced = () => {
      const url = new URL(postgresUrl(schema, { pool: "6" }));
      url.hostname = "127.0.0.1";
      url.port = String(port);
      return url.href;
    };

    it("several workers work at once, each transaction over another connection", async () => {
      const engine = await openPostgresEngine({ url: bounced() });
      await engine.createJob({ id: QUEUE, name: QUEUE, kind: "queue", spec: {} });
      await engine.add(
        QUEUE,
        Array.from({ length: 60 }, (_, n) => ({ itemId: `i${n}`, data: n })),
      );
      const work = async (id: string) => {
        await engine.registerHolder({
          id,
          queue: QUEUE,
          host: "h",
          pid: 1,
          processStart: "1",
          ttlMs: 60_000,
        });
        let settle: ReturnType<typeof succeeded>[] = [];
        do {
          const { leased } = await engine.settleAndLease(id, { settle, lease: { queue: QUEUE, max: 4 } });
          settle = leased.map((item) => (item.index % 10 === 0 ? buried(item) : succeeded(item)));
        } while (settle.length > 0);
      };
      await Promise.all(["a", "b", "c", "d", "e"].map(work));
      expect(await engine.count(QUEUE)).toMatchObject({ done: 54, dead: 6 });
      expect((await engine.listLetters({ limit: 10 })).total).toBe(6);
      expect(await engine.check()).toEqual([]);
      await engine.close();
    });

    it("nobody is notified, and that is reported", async () => {
      const engine = await openPostgresEngine({ url: bounced() });
      expect(engine.can.wakes).toBe(false);
      await (await engine.watch(QUEUE, () => {}))();
      await engine.close();
    });

    it("a URL that states otherwise is obeyed", async () => {
      const engine = await openPostgresEngine({ url: `${bounced()}&listen=true` });
      expect(engine.can.wakes).toBe(true);
      await engine.close();
    });
  },
);

it("without a pooler queues can be watched, unless the URL states otherwise", async () => {
  const schema = `test_${randomName(10)}`;
  const [plain, mute] = await Promise.all([
    openPostgresEngine({ url: postgresUrl(schema) }),
    openPostgresEngine({ url: postgresUrl(schema, { listen: "false" }) }),
  ]);
  expect([plain.can.wakes, mute.can.wakes]).toEqual([true, false]);
  await plain.close();
  await mute.close();
  await dropSchema(schema);
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => end(true));
    socket.once("error", () => end(false));
  });
}
