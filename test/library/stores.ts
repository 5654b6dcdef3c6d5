/** Runs a suite of the library on all three stores. Each test gets a store of its own, which is closed after it. */
import { afterAll, afterEach, beforeEach, describe } from "vitest";
import { type OpenOptions, open, type Redrive } from "../../src/index.ts";
import { randomName } from "../../src/std/random.ts";
import { dropSchema, postgresUrl } from "../support/postgres-stores.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

export const STORES = ["memory", "sqlite", "postgres"] as const;
export type StoreKind = (typeof STORES)[number];

export class TestStore {
  readonly #kind: StoreKind;
  readonly #directory = new TemporaryDirectory();
  #schemas: string[] = [];
  #url = "";
  #open: Redrive[] = [];

  constructor(kind: StoreKind) {
    this.#kind = kind;
  }

  /** A new store for the next test. */
  begin(): void {
    const name = randomName(10);
    if (this.#kind === "memory") this.#url = "memory:";
    else if (this.#kind === "sqlite") this.#url = `sqlite:${this.#directory.file(`${name}.db`)}`;
    else {
      this.#schemas.push(`test_${name}`);
      this.#url = postgresUrl(`test_${name}`);
    }
  }

  get url(): string {
    return this.#url;
  }

  /** A folder that is removed at the end. */
  path(name: string): string {
    return this.#directory.file(name);
  }

  async open(options: OpenOptions = {}): Promise<Redrive> {
    const redrive = await open(this.#url, { home: this.#directory.path, ...options });
    this.#open.push(redrive);
    return redrive;
  }

  async end(): Promise<void> {
    for (const redrive of this.#open.splice(0)) await redrive.close({ timeout: 0 });
  }

  async remove(): Promise<void> {
    this.#directory.remove();
    for (const schema of this.#schemas) await dropSchema(schema);
  }
}

/** Describes a suite for each store. */
export function onEveryStore(name: string, suite: (store: TestStore) => void): void {
  describe.each(STORES)(`${name} on %s`, (kind) => {
    const store = new TestStore(kind);
    beforeEach(() => store.begin());
    afterEach(() => store.end());
    afterAll(() => store.remove());
    suite(store);
  });
}
