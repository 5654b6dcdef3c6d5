/** Pages of letters from one source, found letter by letter. */
import { runNow } from "../sql/db.ts";
import {
  type Found,
  type Part,
  type Search,
  type Source,
  searchAndCount,
  searchEach,
} from "../sql/letter-search.ts";
import { SqliteDb } from "./db.ts";
import { matching, type Path, pathOf } from "./letter-search.ts";
import type { Session } from "./session.ts";

/** Reads a page from one source; in the order of burials, it reads no further than the page. */
export function searchIn(
  session: Session,
  source: Source,
  search: Search,
  path: Path = pathOf(session, source, search.filter, search),
): Found[] {
  const letters = matching(session, source, search.filter, path);
  return runNow(searchEach(new SqliteDb(session), source, search, letters));
}

export function countIn(session: Session, source: Source, search: Search): Part {
  const letters = matching(session, source, search.filter);
  return runNow(searchAndCount(new SqliteDb(session), source, search, letters));
}
