/** An item in two lines: its title, and its data or id below. */
import { itemTexts } from "../data/letter.ts";
import { TwoLines } from "./columns.tsx";
import { MiddleText } from "./middle-text.tsx";

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
      first={<MiddleText text={title} className="font-sans" />}
      second={detail}
    />
  );
}
