/** Options that take several words: separated by commas, or given again. */

/** Each word for itself; undefined when the option was not given. */
export function words(texts: readonly string[]): string[];
export function words(texts: readonly string[] | undefined): string[] | undefined;
export function words(texts: readonly string[] | undefined): string[] | undefined {
  return texts?.flatMap((text) => text.split(",")).map((word) => word.trim());
}
