/** Generates the OpenAPI 3.1 document from the contract. */
import * as z from "zod";
import { problem } from "./contract/documents.ts";
import { isStream, type ProblemCode, type RouteSpec } from "./contract/route.ts";
import { ROUTES } from "./contract.ts";
import { HTTP_STATUS } from "./problem.ts";

type Schema = Record<string, unknown>;

/** Problem codes that every route can return. */
const COMMON: readonly ProblemCode[] = [
  "request_malformed",
  "request_invalid",
  "host_unknown",
  "rate_limited",
  "internal",
  "store_unavailable",
];
const WITH_LOGIN: readonly ProblemCode[] = ["unauthorized", "forbidden"];
const WITH_CHANGE: readonly ProblemCode[] = ["origin_refused"];
const WITH_BODY: readonly ProblemCode[] = ["body_too_large", "media_type_unsupported"];
const WITH_KEY: readonly ProblemCode[] = ["key_reused", "key_in_use"];

/** Builds the document. URLs are relative to the document, so that they are valid under any prefix. */
export function openApiDocument(version: string): Schema {
  const schemas: Schema = {};
  const paths: Record<string, Schema> = {};
  for (const [name, route] of Object.entries(ROUTES) as [string, RouteSpec][]) {
    const [method = "", path = ""] = name.split(" ");
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(method, route, schemas) };
  }
  schemaOf(problem, schemas, "output");
  return {
    openapi: "3.1.0",
    info: {
      title: "Redrive",
      version,
      description: "Dead letters, groups, operations, jobs and queues of a Redrive store.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "./" }],
    security: [{ token: [] }, { session: [] }],
    paths,
    components: {
      schemas,
      securitySchemes: {
        token: { type: "http", scheme: "bearer" },
        session: { type: "apiKey", in: "cookie", name: "redrive_session" },
      },
    },
  };
}

function operationOf(method: string, route: RouteSpec, schemas: Schema): Schema {
  const { id, tag, summary, description, role, body, bodyType } = route;
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    "x-role": role,
    ...(role === "public" && { security: [] }),
    parameters: parametersOf(method, route, schemas),
    ...(body && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: schemaOf(body, schemas, "input") } },
      },
    }),
    ...(bodyType !== undefined && {
      requestBody: { required: true, content: { [bodyType]: { schema: { type: "string" } } } },
    }),
    responses: { ...successOf(route, schemas), ...problemsOf(method, route) },
  };
}

function parametersOf(method: string, route: RouteSpec, schemas: Schema): readonly Schema[] {
  const inside = (schema: z.ZodObject | undefined, where: "path" | "query") =>
    Object.entries(schema?.shape ?? {}).map(([name, one]) => ({
      name,
      in: where,
      required: where === "path" || !(one as z.ZodType).safeParse(undefined).success,
      schema: schemaOf(one as z.ZodType, schemas, "input"),
    }));
  const headers = [
    ...(route.needsRevision
      ? [{ name: "If-Match", in: "header", required: true, schema: { type: "string" } }]
      : []),
    ...(method === "POST"
      ? [
          {
            name: "Idempotency-Key",
            in: "header",
            required: false,
            schema: { type: "string", maxLength: 200 },
          },
        ]
      : []),
  ];
  return [...inside(route.params, "path"), ...inside(route.query, "query"), ...headers];
}

function successOf({ response, status = 200 }: RouteSpec, schemas: Schema): Schema {
  if (isStream(response)) {
    const { contentType, description } = response;
    return { [status]: { description, content: { [contentType]: { schema: { type: "string" } } } } };
  }
  const content = { "application/json": { schema: schemaOf(response, schemas, "output") } };
  return { [status]: { description: "Success.", content } };
}

function problemsOf(method: string, { role, body, bodyType, errors }: RouteSpec): Schema {
  const isChange = method !== "GET";
  const codes = new Set([
    ...errors,
    ...COMMON,
    ...(role === "public" ? ["unauthorized" as const] : WITH_LOGIN),
    ...(isChange ? WITH_CHANGE : []),
    ...(body || bodyType ? WITH_BODY : []),
    ...(method === "POST" ? WITH_KEY : []),
  ]);
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of codes)
    byStatus.set(HTTP_STATUS[code], [...(byStatus.get(HTTP_STATUS[code]) ?? []), code]);
  const content = { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } };
  const entries = [...byStatus].sort(([a], [b]) => a - b);
  return Object.fromEntries(entries.map(([status, of]) => [status, { description: of.join(", "), content }]));
}

/** Converts a schema. Schemas with an id become components, to which others refer. */
function schemaOf(schema: z.ZodType, schemas: Schema, io: "input" | "output"): Schema {
  const { $schema: _, $defs = {}, ...own } = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Schema;
  for (const [id, one] of Object.entries($defs as Schema)) schemas[id] = relocated(one);
  const id = z.globalRegistry.get(schema)?.id;
  if (typeof id !== "string") return relocated(own) as Schema;
  const { id: __, ...plain } = relocated(own) as Schema;
  schemas[id] = plain;
  return { $ref: `#/components/schemas/${id}` };
}

/** Redirects references to the components of the document, and drops the ids that the library adds to them. */
function relocated(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relocated);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) =>
      key === "$ref" && typeof one === "string"
        ? [key, one.replace("#/$defs/", "#/components/schemas/")]
        : [key, relocated(one)],
    ),
  );
}
