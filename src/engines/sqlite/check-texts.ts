/** `store check` for the text index: compares it with the messages of letters. */
import type { Problem } from "../../engine.ts";
import { lastFailureOf } from "../sql/attempts.ts";
import { TEXT_RULE } from "./check-rules.ts";
import { templateOf } from "./message-template.ts";
import type { Session } from "./session.ts";

const STEP = 1000;

/** Reads the messages of all indexed dead letters again and compares them with the index. */
export function checkTexts(session: Session, max: number): Problem[] {
  const problems: Problem[] = [];
  for (let after = 0; problems.length < max; ) {
    const rows = session.tuples<IndexedRow>(
      `SELECT s.no, w.text, s.parameters, w.is_open, json_extract(${lastFailureOf("l.ref")}, '$.error_message')
         FROM indexed_messages s CROSS JOIN letters l ON l.no = s.no CROSS JOIN items i ON i.ref = l.ref AND i.state = 'dead'
              CROSS JOIN message_templates w ON w.no = s.template
        WHERE s.no > ? ORDER BY s.no LIMIT ${STEP}`,
      after,
    );
    const wrong = rows.filter((row) => !isAsIndexed(row));
    problems.push(
      ...wrong.map(([no]) => ({
        rule: TEXT_RULE,
        detail: `letter ${no} has another message than the indexed one`,
      })),
    );
    if (rows.length < STEP) break;
    after = rows.at(-1)?.[0] ?? after;
  }
  return problems;
}

type IndexedRow = readonly [
  no: number,
  text: string,
  parameters: string,
  isOpen: number,
  message: string | null,
];

function isAsIndexed([, text, parameters, isOpen, message]: IndexedRow): boolean {
  const template = templateOf(typeof message === "string" ? message : "");
  return template.text === text && template.parameters === parameters && template.isOpen === (isOpen === 1);
}
