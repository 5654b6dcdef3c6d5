/** Stores and files for tests of export and import, and letters of all kinds that a store can have. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { exportLetters } from "../../../src/dead-letter/import-export/export.ts";
import { type ImportOptions, importLetters } from "../../../src/dead-letter/import-export/import.ts";
import type { ExportFormat } from "../../../src/dead-letter/import-export/reading.ts";
import type { Engine } from "../../../src/engine.ts";
import { openStore } from "../../../src/engines/open.ts";
import { type Letter, letterToJson, RESOLUTION_KINDS } from "../../../src/item/letter.ts";
import type { JsonObject } from "../../../src/std/json.ts";
import { letters as anyLetters } from "../../item/arbitraries.ts";
import { fc } from "../../support/properties.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";

const STATES = ["dead", "ready", "leased", "discarded", "done"] as const;

export class ExchangeKit {
  readonly directory = new TemporaryDirectory();
  readonly #engines: Engine[] = [];

  async store(url = "memory:"): Promise<Engine> {
    const engine = await openStore(url);
    this.#engines.push(engine);
    return engine;
  }

  path(name: string): string {
    return join(this.directory.path, name);
  }

  /** Every letter of the store, whatever became of it, oldest burial first. */
  async *letters(engine: Engine): AsyncGenerator<Letter> {
    let cursor: string | undefined;
    do {
      const page = await engine.listLetters({
        ...{ states: STATES, order: "oldest", limit: 100 },
        ...(cursor !== undefined && { cursor }),
      });
      yield* page.letters;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  }

  async documents(engine: Engine): Promise<readonly JsonObject[]> {
    const found: JsonObject[] = [];
    for await (const letter of this.letters(engine)) found.push(letterToJson(letter));
    return found;
  }

  export(engine: Engine, name: string, format?: ExportFormat) {
    return exportLetters(this.letters(engine), {
      path: this.path(name),
      ...(format !== undefined && { format }),
    });
  }

  import(engine: Engine, name: string, options: ImportOptions = {}) {
    return importLetters(engine, this.path(name), options);
  }

  /** Imports into a new store, and gives what is there then. */
  async imported(name: string, options: ImportOptions = {}) {
    const engine = await this.store();
    const report = await this.import(engine, name, options);
    return { engine, report, documents: await this.documents(engine) };
  }

  isThere(name: string): boolean {
    return existsSync(this.path(name));
  }

  async remove(): Promise<void> {
    for (const engine of this.#engines.splice(0)) await engine.close();
    this.directory.remove();
  }
}

const id = fc.oneof(
  fc.stringMatching(/^[a-zA-Z0-9 ._/:@=+'"-]{1,20}$/),
  fc.constantFrom("..", "../../etc/passwd", "=1+1", "'=1+1", "A", "a", "%", "ä", "-", "💥"),
);
/** What CSV, spreadsheets and lines could stumble over. */
const hard = fc.constantFrom(
  "=SUM(A1)",
  "'=x",
  "''+y",
  "@z",
  "-1",
  "a,b",
  'say "so"',
  "one\ntwo\r\n",
  "\r",
  " x ",
  "\t",
);
const resolution = fc.record(
  { kind: fc.constantFrom(...RESOLUTION_KINDS), at: fc.nat(), author: fc.string(), reason: hard },
  { requiredKeys: ["kind", "at"] },
);

/** A letter as a store can have it. */
export const storable: fc.Arbitrary<Letter> = fc
  .record({
    letter: anyLetters.filter(({ failureHistory }) => failureHistory.length > 0),
    itemId: id,
    jobId: fc.constantFrom("job-1", "job 2/=", "job-3"),
    signature: fc.stringMatching(/^[0-9a-f]{16}$/),
    hard,
    notes: fc.option(
      fc.array(fc.record({ at: fc.nat(), author: fc.string(), text: hard }), { minLength: 1 }),
    ),
    resolution: fc.option(resolution),
    poison: fc.option(fc.constant(true)),
  })
  .map(({ letter, signature, hard: reason, notes, resolution: end, poison, ...named }) => ({
    ...letter,
    ...named,
    errorSignature: signature,
    errorPattern: `Unknown::${reason}`,
    reason,
    ...(notes !== null && { notes }),
    ...(end !== null && { resolution: end }),
    ...(poison !== null && { poison }),
  }));
