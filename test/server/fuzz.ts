/** Generates requests from the OpenAPI document: valid ones, nearly valid ones and nonsense. Seeded, so that a run can be repeated. */

import { API_PREFIX } from "../../src/server/contract.ts";
import { openApiDocument } from "../../src/server/openapi.ts";
import type { Random } from "../../src/std/random.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { ORIGIN } from "./kit.ts";

type Schema = Readonly<Record<string, unknown>>;

interface Described {
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Texts that have broken programs before. */
const EVIL = [
  "",
  " ",
  "0",
  "-1",
  "NaN",
  "1e309",
  "9007199254740993",
  "null",
  "true",
  "../../etc/passwd",
  "%2e%2e%2f",
  "\u0000",
  "\ud800",
  "\u001b[2J",
  "<script>",
  "' OR 1=1 --",
  "'; DROP TABLE letters; --",
  "${item.x}",
  "__proto__",
  "constructor",
  "a".repeat(3000),
  "🤷",
  "٣",
  "(((((((((",
  "item.a.b.c",
  "1 / 0",
  "op-",
  "rdr_x",
];

/** Names that exist, so that requests get past the first lookup. */
const KNOWN = ["orders", "o-1", "o-2", "mails", "none", "op-none", "1", "dead", "2h", "5/s"];

export class RequestFuzz {
  readonly #document = openApiDocument("1.0.0") as unknown as Document;
  readonly #routes: readonly {
    readonly method: string;
    readonly path: string;
    readonly described: Described;
  }[];
  readonly #random: Random;
  /** Values that earlier answers contained, such as ids and ETags. */
  readonly seen: string[] = [];

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.#routes = Object.entries(this.#document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, described]) => ({
        method: method.toUpperCase(),
        path,
        described,
      })),
    );
  }

  next(authorization: string): Request {
    const { method, path, described } = this.#pick(this.#routes);
    const of = (where: string) => described.parameters.filter((one) => one.in === where);
    const filled = path.replaceAll(/\{(\w+)\}/g, () => encodeURIComponent(wellFormed(this.#text())));
    const query = new URLSearchParams();
    for (const { name, required, schema } of of("query"))
      if (required || this.#chance(0.3)) query.append(name, wellFormed(asText(this.#value(schema, 0))));
    if (this.#chance(0.05)) query.append(wellFormed(this.#text()), "1");
    const headers = new Headers({ authorization });
    for (const { name } of of("header"))
      if (this.#chance(0.6))
        headers.set(
          name,
          this.#text()
            .replace(/[^\x20-\x7e]/g, "?")
            .trim(),
        );
    if (this.#chance(0.1)) headers.set("range", `bytes=${this.#text().replace(/[^\x21-\x7e]/g, "")}`);
    const [type, content] = Object.entries(described.requestBody?.content ?? {})[0] ?? [];
    if (type !== undefined) headers.set("content-type", this.#chance(0.95) ? type : "text/plain");
    const body = content === undefined ? undefined : this.#body(content.schema);
    return new Request(`${ORIGIN}${API_PREFIX}${filled}?${query}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    });
  }

  #body(schema: Schema): string {
    if (this.#chance(0.05)) return this.#text();
    return JSON.stringify(this.#value(schema, 0)) ?? "";
  }

  /** Mostly a value of the schema; sometimes something else. */
  #value(given: Schema, depth: number): unknown {
    if (depth > 6 || this.#chance(0.06)) return this.#nonsense();
    const schema = this.#resolve(given);
    const { type, anyOf } = schema;
    const choices = schema.enum as readonly unknown[] | undefined;
    if (choices !== undefined) return this.#pick(choices);
    if ("const" in schema) return schema.const;
    if (Array.isArray(anyOf)) return this.#value(this.#pick(anyOf as readonly Schema[]), depth + 1);
    if (type === "object") return this.#object(schema, depth);
    if (type === "array")
      return Array.from({ length: this.#below(4) }, () =>
        this.#value((schema.items ?? {}) as Schema, depth + 1),
      );
    if (type === "boolean") return this.#chance(0.5);
    if (type === "integer" || type === "number") return this.#pick([0, 1, 2, 5, 50, -1, 1.5, 1e15]);
    if (type === "string") return this.#text();
    return this.#nonsense();
  }

  #object(schema: Schema, depth: number): unknown {
    const required = (schema.required ?? []) as readonly string[];
    const object: Record<string, unknown> = {};
    for (const [key, one] of Object.entries((schema.properties ?? {}) as Readonly<Record<string, Schema>>))
      if (required.includes(key) || this.#chance(0.35)) object[key] = this.#value(one, depth + 1);
    if (this.#chance(0.03)) object[this.#text()] = this.#nonsense();
    return object;
  }

  #resolve(schema: Schema): Schema {
    const name = typeof schema.$ref === "string" ? schema.$ref.split("/").at(-1) : undefined;
    return name === undefined ? schema : (this.#document.components.schemas[name] ?? {});
  }

  #nonsense(): unknown {
    return this.#pick([null, true, 0, -1, 1e300, "", [], {}, [[]], { a: { b: [] } }, this.#text()]);
  }

  #text(): string {
    const place = this.#below(10);
    if (place < 5) return this.#pick(KNOWN);
    return place < 7 && this.seen.length > 0 ? this.#pick(this.seen) : this.#pick(EVIL);
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T;
  }
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Half a character cannot be sent in a URL. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}
