/** `store check` for the text index: compares it with the messages of letters. */
import type { Problem } from "../../engine.ts";
import { lastFailureOf } from "../sql/attempts.ts";
import { TEXT_RULE } from "./check-rules.ts";
import type { Session } from "./session.ts";
import { wordingOf } from "./wording.ts";

const STEP = 1000;

/** Reads the messages of all indexed dead letters again and compares them with the index. */
export function checkTexts(session: Session, max: number): Problem[] {
  const problems: Problem[] = [];
  for (let after = 0; problems.length < max; ) {
    const rows = session.tuples<SaidRow>(
      `SELECT s.no, w.text, s.figures, w.is_open, json_extract(${lastFailureOf("l.ref")}, '$.error_message')
         FROM said s CROSS JOIN letters l ON l.no = s.no CROSS JOIN items i ON i.ref = l.ref AND i.state = 'dead'
              CROSS JOIN wordings w ON w.no = s.wording
        WHERE s.no > ? ORDER BY s.no LIMIT ${STEP}`,
      after,
    );
    const wrong = rows.filter((row) => !isAsSaid(row));
    problems.push(
      ...wrong.map(([no]) => ({ rule: TEXT_RULE, detail: `letter ${no} says something else than was read` })),
    );
    if (rows.length < STEP) break;
    after = rows.at(-1)?.[0] ?? after;
  }
  return problems;
}

type SaidRow = readonly [no: number, text: string, figures: string, isOpen: number, message: string | null];

function isAsSaid([, text, figures, isOpen, message]: SaidRow): boolean {
  const wording = wordingOf(typeof message === "string" ? message : "");
  return wording.text === text && wording.figures === figures && wording.isOpen === (isOpen === 1);
}
