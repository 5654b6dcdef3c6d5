/** Formats numbers: in full below a million, abbreviated above. */
const FULL = new Intl.NumberFormat("en-US");
const SHORT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

export function countText(count: number): string {
  return count < 1_000_000 ? FULL.format(count) : SHORT.format(count);
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Truncates in the middle, because ids and paths usually differ at their ends. */
export function middle(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const head = Math.ceil((charsMax - 1) / 2);
  return `${text.slice(0, head)}…${text.slice(text.length - (charsMax - 1 - head))}`;
}

/** The host name without the suffixes that identify a boot or a namespace. */
export function machineName(host: string): string {
  return host.split("/")[0] ?? host;
}

export function costText(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`;
}
