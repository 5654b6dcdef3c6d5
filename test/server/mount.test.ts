/** The handler of `redrive/server` under a prefix in other programs: Hono, Express, Fastify, and handlers as Next.js has them. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import { RedriveClient } from "../../src/server/client.ts";
import { createServer as createRedrive, nodeListener, type RedriveServer } from "../../src/server/index.ts";
import { queueWithLetters } from "./kit.ts";

const PREFIX = "/tools/redrive";

async function listening(server: Server): Promise<string> {
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Each mounts the handler in a program with a route of its own, and returns the address. */
const FRAMEWORKS: Readonly<Record<string, (redrive: RedriveServer) => Promise<string>>> = {
  Hono: async (redrive) => {
    const app = new Hono();
    app.get("/own", (c) => c.text("own"));
    app.all(`${PREFIX}/*`, (c) => redrive.fetch(c.req.raw));
    return listening(createServer(getRequestListener(app.fetch)));
  },
  Express: async (redrive) => {
    const app = express();
    const listener = nodeListener(redrive);
    app.get("/own", (_, response) => void response.send("own"));
    app.use((request, response, next) => {
      if (request.url.startsWith(`${PREFIX}/`)) listener(request, response);
      else next();
    });
    return listening(createServer(app));
  },
  Fastify: async (redrive) => {
    const app = fastify();
    const listener = nodeListener(redrive);
    app.get("/own", async () => "own");
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers(); // the body stays unread
      scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
      scope.all(`${PREFIX}/*`, (request, reply) => {
        reply.hijack();
        listener(request.raw, reply.raw);
      });
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => app.close());
    return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  },
  // `app/tools/redrive/[[...path]]/route.ts` exports one function for each method.
  "Next.js": async (redrive) => {
    const handler = (request: Request) => redrive.fetch(request);
    const methods: Readonly<Record<string, typeof handler>> = {
      ...{ GET: handler, POST: handler, PUT: handler, PATCH: handler, DELETE: handler },
    };
    return listening(
      createServer(
        getRequestListener((request) =>
          new URL(request.url).pathname === "/own"
            ? new Response("own")
            : (methods[request.method] ?? handler)(request),
        ),
      ),
    );
  },
};

async function mounted(mount: (redrive: RedriveServer) => Promise<string>) {
  const engine: Engine = await openStore("memory:");
  const auth = { kind: "open", role: "admin", name: "intranet" } as const;
  const redrive = createRedrive({ engine, home: "/nonexistent", version: "1", basePath: PREFIX, auth });
  const origin = await mount(redrive);
  onTestFinished(async () => {
    await redrive.close();
    await engine.close();
  });
  await queueWithLetters(engine, "orders", [{ key: "o-1", data: { bad: "it broke" } }]);
  return { origin, client: new RedriveClient({ url: `${origin}${PREFIX}/api/v1` }) };
}

test.each(Object.entries(FRAMEWORKS))("under a prefix in %s, everything works", async (_, mount) => {
  const { origin, client } = await mounted(mount);
  expect((await client.call("GET /letters", { query: { queue: "orders" } })).items).toMatchObject([
    { item_id: "o-1" },
  ]);
  const params = { queue: "orders", item_id: "o-1" };
  const noted = await client.call("POST /letters/{queue}/{item_id}/notes", {
    params,
    body: { text: "seen" },
  });
  expect(noted.notes).toMatchObject([{ text: "seen", author: "intranet via api" }]);
  const events = await client.call("GET /events", { query: { after: "0" } });
  const reader = (events.body as ReadableStream<Uint8Array>).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toContain("id: ");
  await reader.cancel();
  expect(await (await fetch(`${origin}/own`)).text()).toBe("own");
  const wrong = await fetch(`${origin}${PREFIX}/api/v1/nothing`);
  expect([wrong.status, wrong.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
});

test("outside of the prefix there is nothing, not even the console", async () => {
  const engine: Engine = await openStore("memory:");
  const redrive = createRedrive({ engine, home: "/nonexistent", version: "1", basePath: PREFIX });
  onTestFinished(async () => {
    await redrive.close();
    await engine.close();
  });
  const statusOf = async (path: string) =>
    (await redrive.fetch(new Request(`http://localhost${path}`))).status;
  expect(await statusOf(`${PREFIX}/healthz`)).toBe(200);
  expect(await statusOf(PREFIX)).toBe(await statusOf(`${PREFIX}/`)); // the console, if it was built
  for (const path of ["/healthz", "/", "/letters/orders/o-1", `${PREFIX}x/`, "/api/v1/letters"])
    expect(await statusOf(path), path).toBe(404);
});
