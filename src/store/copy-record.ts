/**
 * How far a copy has come, kept as a document of the store that is copied into, so that a copy which was ended at any
 * moment goes on where it was. Of two that write at once, one is refused.
 */
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { isJsonObject, type Json } from "../kit/json.ts";
import type { TableSum } from "./digest.ts";
import { COPY_PREFIX } from "./row-pages.ts";

/** `stale`: the source was changed while it was copied, so the copy has to begin anew. */
export type CopyState =
  | { readonly status: "copying"; readonly events: number; readonly table: string; readonly after: Json }
  | { readonly status: "stale" }
  | { readonly status: "copied"; readonly tables: readonly TableSum[] };

/** The record of one source in one target. */
export class CopyRecord {
  readonly #engine: Engine;
  readonly #name: string;
  #version = 0;

  constructor(engine: Engine, sourceId: string) {
    this.#engine = engine;
    this.#name = `${COPY_PREFIX}${sourceId}`;
  }

  /** Null when nothing of the source was ever copied here. */
  async read(): Promise<CopyState | null> {
    const document = await this.#engine.readDocument(this.#name);
    this.#version = document?.version ?? 0;
    return document === null ? null : stateOf(document.body);
  }

  async write(state: CopyState): Promise<void> {
    const body: Json = JSON.parse(JSON.stringify(state)) as Json;
    if (await this.#engine.writeDocument(this.#name, { seen: this.#version, body })) {
      this.#version += 1;
      return;
    }
    throw new WorkError("job_running", "Another process is copying into the same store.", {
      hint: "Wait until it is done, or end it; then run the same copy again.",
    });
  }

  /** With all rows of the store the record has gone, too. */
  forget(): void {
    this.#version = 0;
  }
}

/** What is not in a form that is known was written by a later version; the copy begins anew. */
function stateOf(body: Json): CopyState {
  if (!isJsonObject(body)) return { status: "stale" };
  const { status, events, table, after, tables } = body;
  if (status === "copying" && typeof events === "number" && typeof table === "string")
    return { status, events, table, after: after ?? null };
  if (status === "copied" && Array.isArray(tables))
    return { status, tables: tables as unknown as readonly TableSum[] };
  return { status: "stale" };
}
