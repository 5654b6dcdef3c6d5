/** An item in two lines: its title, and its data or id below. */
import { itemTexts } from "../data/letter.ts";
import { TwoLines } from "./columns.tsx";
import { middle } from "./numbers.ts";

const TITLE_CHARS_MAX = 56;

interface ItemNameProps {
  readonly id: string;
  readonly data: unknown;
  readonly name?: unknown;
}

export function ItemName({ id, data, name }: ItemNameProps) {
  const { title, detail } = itemTexts(id, data, name);
  return (
    <TwoLines
      mono
      title={`${title}\n${detail}`}
      first={<span className="font-sans">{middle(title, TITLE_CHARS_MAX)}</span>}
      second={detail}
    />
  );
}
