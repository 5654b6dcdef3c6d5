/** Numbers that say which failure it was, and so must not be masked: exit codes, HTTP statuses, codes of vendors. */

const CODE_DIGITS_MAX = 6;
/** How far around a number its meaning is looked for. */
const NEARBY_CHARS_MAX = 24;

const NAMED_BEFORE =
  /\b(?:(?:exit|error|status)[ _-]?)?(?:code|status|errno|signal|sqlstate|exit|exited with|os error|http(?:\/\d(?:\.\d)?)?)(?: is| was| of)?[ :=#("']{1,3}-?$/i;
/** `ORA-00942`, `PLS-00201`, and the version in `HTTP/1.1`. */
const VENDOR_BEFORE = /\b(?:[A-Z]{2,8}-|HTTP\/)$/;
const REASON_BEHIND =
  /^ (?:Bad Request|Unauthorized|Payment Required|Forbidden|Not Found|Method Not|Not Acceptable|Request Time|Conflict|Gone|Too Many|Unprocessable|Internal Server|Not Implemented|Bad Gateway|Service Unavail|Gateway Time)/i;

/** Whether the number at the offset is a code by the words around it. */
export function isMeantNumber(digits: string, offset: number, text: string): boolean {
  if (digits.length > CODE_DIGITS_MAX) return false;
  const before = text.slice(Math.max(0, offset - NEARBY_CHARS_MAX), offset);
  if (NAMED_BEFORE.test(before) || VENDOR_BEFORE.test(before)) return true;
  const end = offset + digits.length;
  return /^[1-5]\d\d$/.test(digits) && REASON_BEHIND.test(text.slice(end, end + NEARBY_CHARS_MAX));
}
