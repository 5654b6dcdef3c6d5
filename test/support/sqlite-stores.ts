/** SQLite stores for tests, each in its own file. A store can be reopened or opened twice. */
import { DatabaseSync } from "@photostructure/sqlite";
import type { Engine } from "../../src/engine.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/open.ts";
import { assert } from "../../src/std/assert.ts";
import type { Clock } from "../../src/std/clock.ts";
import type { EngineUnderTest } from "../conformance/suite.ts";
import type { TemporaryDirectory } from "./temporary-directory.ts";

interface Place {
  readonly path: string;
  readonly clock: Clock;
}

/** Creates the stores in the directory, which the caller removes. */
export function sqliteStores(directory: TemporaryDirectory) {
  const places = new WeakMap<Engine, Place>();

  const openAt = async (place: Place): Promise<Engine> => {
    const engine = await openSqliteEngine(place);
    places.set(engine, place);
    return engine;
  };
  const join = (engine: Engine): Promise<Engine> => {
    const place = places.get(engine);
    assert(place, "the engine was not opened here");
    return openAt(place);
  };

  return {
    open: (clock) => openAt({ path: directory.file("store.db"), clock }),
    join,
    reopen: async (engine) => {
      await engine.close();
      return join(engine);
    },
    connect: async (engine) => {
      const place = places.get(engine);
      assert(place, "the engine was not opened here");
      const connection = new DatabaseSync(place.path);
      return {
        connection,
        execute: async (sql) => connection.exec(sql),
        close: async () => connection.close(),
      };
    },
  } satisfies EngineUnderTest;
}
