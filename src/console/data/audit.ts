/** Formats audit entries: a readable name for each change, and its details as names and values. */

/** Changes whose event name differs from the term that users see. */
const WORDS: Readonly<Record<string, string>> = {
  dlq_items_reprocessed: "letters retried",
  dlq_items_requeued: "letters requeued as new",
  dlq_item_amended: "letter edited",
  dlq_items_discarded: "letters discarded",
  dlq_items_restored: "letters restored",
  dlq_items_purged: "letters purged",
  dlq_items_cleared: "letters cleared",
  dlq_items_evicted: "letters evicted",
  item_replaced: "data of an item replaced",
  item_released: "item unheld",
};

export function actionText(action: string): string {
  return WORDS[action] ?? action.replaceAll("_", " ");
}

/** Formats the details without empty values. The values inside `details` are merged into the others. */
export function detailsText(data: Readonly<Record<string, unknown>>): string {
  const { details, ...others } = data;
  const all = { ...others, ...(typeof details === "object" && details !== null ? details : { details }) };
  return Object.entries(all)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${valueText(value)}`)
    .join(" · ");
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
