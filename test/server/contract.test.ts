/**
 * Walks the OpenAPI document: every route with every role, without and with bad authentication, with unknown fields and wrong
 * types. The answer has the right status and problem, and the store stays as it was.
 */
import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, describe, expect, test } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import { createServer, type RedriveServer } from "../../src/server/app.ts";
import { mayAct } from "../../src/server/auth/principal.ts";
import { createToken, revokeToken } from "../../src/server/auth/tokens.ts";
import { ROLES, type Role, type RouteSpec } from "../../src/server/contract/route.ts";
import { API_PREFIX, ROUTES } from "../../src/server/contract.ts";
import { openApiDocument } from "../../src/server/openapi.ts";
import { HTTP_STATUS } from "../../src/server/problem.ts";
import { ORIGIN, queueWithLetters } from "./kit.ts";

interface Described {
  readonly operationId: string;
  readonly "x-role": Role | "public";
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
  readonly responses: Readonly<Record<string, unknown>>;
}

const document = openApiDocument("1.0.0") as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
};

const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, described]) => ({
    title: `${method.toUpperCase()} ${path}`,
    method: method.toUpperCase(),
    path,
    described,
    isJson: described.requestBody?.content["application/json"] !== undefined,
  })),
);

type Route = (typeof routes)[number];

let engine: Engine;
let server: RedriveServer;
const secrets = new Map<string, string>();

beforeAll(async () => {
  engine = await openStore("memory:");
  server = createServer({
    engine,
    home: "/nonexistent",
    version: "1.0.0",
    hosts: "loopback",
    limits: { guesses: { burst: 1e6, perSecond: 1 }, requests: { burst: 1e6, perSecond: 1 } },
  });
  await queueWithLetters(engine, "orders", [{ key: "o-1", data: { bad: "it broke" } }]);
  const create = async (name: string, role: Role, lifetimeMs = 3_600_000) => {
    const made = await createToken(engine, { kind: "token", name, role, createdBy: "test", lifetimeMs });
    secrets.set(name, made.secret);
    return made.record;
  };
  for (const role of ROLES) await create(role, role);
  await create("expired", "admin", -1);
  await revokeToken(engine, (await create("revoked", "admin")).id, "test");
  return async () => {
    await server.close();
    await engine.close();
  };
});

const VALUES: Readonly<Record<string, string>> = {
  queue: "orders",
  item_id: "o-1",
  job: "orders",
  group: "0000000000000000",
  operation_id: "op-none",
  number: "1",
  target: "none",
  token_id: "t-none",
  schedule: "none",
};

function pathOf({ path }: Route): string {
  return API_PREFIX + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => VALUES[name] ?? "x");
}

interface Change {
  readonly secret?: string | undefined;
  readonly query?: string;
  readonly body?: string;
  readonly type?: string;
}

function send(route: Route, { secret, query = "", body, type }: Change): Promise<Response> {
  const content = Object.keys(route.described.requestBody?.content ?? {})[0];
  const headers = new Headers();
  if (secret !== undefined) headers.set("authorization", `Bearer ${secret}`);
  if (content !== undefined) headers.set("content-type", type ?? content);
  const init = { method: route.method, headers, ...(content !== undefined && { body: body ?? "{}" }) };
  return server.fetch(new Request(`${ORIGIN}${pathOf(route)}${query}`, init));
}

async function expectProblem(response: Response, code: keyof typeof HTTP_STATUS): Promise<void> {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(await response.json()).toMatchObject({
    code,
    status: HTTP_STATUS[code],
    detail: expect.any(String),
  });
  expect(response.status).toBe(HTTP_STATUS[code]);
}

/** Everything that a request could have changed. Uses of tokens are written with the time only. */
async function stateOf(): Promise<unknown> {
  return {
    events: await engine.newestEvent(),
    operations: await engine.listOperations({}),
    counts: await engine.count("orders"),
    letters: await engine.listLetters({ limit: 10 }),
    jobs: await engine.listJobs({ limit: 100 }),
  };
}

describe("the OpenAPI document", () => {
  test("is valid", async () => {
    const result = await new Validator().validate(JSON.parse(JSON.stringify(document)));
    expect(result).toMatchObject({ valid: true });
  });

  test("describes every route of the contract with its role, its errors and a unique id", () => {
    expect(routes.map(({ title }) => title).sort()).toEqual(Object.keys(ROUTES).sort());
    expect(new Set(routes.map(({ described }) => described.operationId)).size).toBe(routes.length);
    for (const [name, route] of Object.entries(ROUTES) as [string, RouteSpec][]) {
      const described = routes.find(({ title }) => title === name)?.described;
      expect(described?.["x-role"]).toBe(route.role);
      for (const code of route.errors) expect(described?.responses).toHaveProperty(String(HTTP_STATUS[code]));
    }
  });

  test("every change needs more than the role of a viewer, except for the session and previews of texts", () => {
    const open = routes.filter(
      ({ method, described }) => method !== "GET" && ["viewer", "public"].includes(described["x-role"]),
    );
    expect(open.map(({ title }) => title).sort()).toEqual([
      "DELETE /session",
      "POST /groups/preview",
      "POST /session",
    ]);
  });
});

const guarded = routes.filter(({ described }) => described["x-role"] !== "public");

describe.each(guarded)("$title", (route) => {
  test("refuses requests without, with unknown, expired and revoked tokens", async () => {
    const before = await stateOf();
    const bad = [undefined, "rdr_unknown", secrets.get("expired"), secrets.get("revoked"), "", "a b"];
    for (const secret of bad) await expectProblem(await send(route, { secret }), "unauthorized");
    expect(await stateOf()).toEqual(before);
  });

  test("refuses weaker roles", async () => {
    const before = await stateOf();
    const needed = route.described["x-role"] as Role;
    for (const role of ROLES.filter((one) => !mayAct(one, needed)))
      await expectProblem(await send(route, { secret: secrets.get(role) }), "forbidden");
    expect(await stateOf()).toEqual(before);
  });

  test("refuses unknown fields and wrong types in the query", async () => {
    const secret = secrets.get("admin");
    const before = await stateOf();
    await expectProblem(await send(route, { secret, query: "?no_such_field=1" }), "request_invalid");
    const typed = route.described.parameters.filter(({ in: where }) => where === "query");
    for (const { name } of typed.filter((one) =>
      ["limit", "cursor", "eligible", "dry_run", "state", "type"].includes(one.name),
    )) {
      if (name === "cursor" && route.path === "/letters") continue; // any text; the store checks it
      await expectProblem(await send(route, { secret, query: `?${name}=%00wrong` }), "request_invalid");
    }
    expect(await stateOf()).toEqual(before);
  });
});

describe.each(routes.filter(({ isJson }) => isJson))("the body of $title", (route) => {
  test("must be JSON of the right type without unknown fields", async () => {
    const secret = secrets.get("admin");
    const before = await stateOf();
    const refused = async (body: string, code: keyof typeof HTTP_STATUS, type?: string) =>
      expectProblem(await send(route, { secret, body, ...(type !== undefined && { type }) }), code);
    await refused("{", "request_malformed");
    await refused("", "request_invalid");
    await refused("[]", "request_invalid");
    await refused('"text"', "request_invalid");
    await refused("null", "request_invalid");
    await refused('{"no_such_field": 1}', "request_invalid");
    await refused('{"__proto__": {"role": "admin"}}', "request_invalid");
    await refused("a=1", "media_type_unsupported", "application/x-www-form-urlencoded");
    await refused("{}", "media_type_unsupported", "text/plain");
    expect(await stateOf()).toEqual(before);
  });
});

test("a path that does not exist and a method that a path lacks are problems, too", async () => {
  const authorization = `Bearer ${secrets.get("admin")}`;
  const ask = (method: string, path: string) =>
    server.fetch(new Request(ORIGIN + path, { method, headers: { authorization } }));
  await expectProblem(await ask("GET", `${API_PREFIX}/nothing`), "route_not_found");
  const response = await ask("DELETE", `${API_PREFIX}/letters`);
  expect(response.headers.get("allow")).toBe("GET");
  await expectProblem(response, "method_not_allowed");
});
