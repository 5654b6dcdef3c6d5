/** Generates random names from the system's random generator. */
import { randomBytes } from "node:crypto";

/** A number in [0, 1). */
export type Random = () => number;

/** Lower-case letters and digits without letters that are easily confused (i, l, o, u). */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** A unique name: `length` characters with 5 random bits each. */
export function randomName(length: number): string {
  return toBase32(randomBytes(length)).slice(0, length);
}

const SERIES_MAX = 32 ** 4;

/** Generates unique names of 16 characters in ascending order, so that index pages fill up. The first 12 are random. */
export function nameSeries(): () => string {
  const pairs = Array.from({ length: 32 ** 2 }, (_, n) => `${ALPHABET[n >> 5]}${ALPHABET[n & 31]}`);
  let prefix = "";
  let next = 0;
  return () => {
    if (next % SERIES_MAX === 0) {
      prefix = randomName(12);
      next = 0;
    }
    const name = `${prefix}${pairs[next >> 10]}${pairs[next & 1023]}`;
    next += 1;
    return name;
  };
}

/** Encodes the leading bits of the bytes as lower-case characters, 5 bits each. */
export function toBase32(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(value >> bits) & 31];
    }
  }
  return text;
}
