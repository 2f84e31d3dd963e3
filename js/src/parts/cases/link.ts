// The case that an address names, of a page that is all ours: "#case=17".
const MARK = "#case=";

/** "" where it names none. */
export function caseIn(address: Location | null): string {
  const hash = address?.hash ?? "";
  if (!hash.startsWith(MARK)) return "";
  try {
    return decodeURIComponent(hash.slice(MARK.length));
  } catch {
    return ""; // cut within a letter
  }
}

/** Let the address name it, so that it can be copied. */
export function nameCase(address: Location | null, id: string | number): void {
  const hash = MARK + encodeURIComponent(id);
  if (!address || address.hash === hash) return;
  try {
    globalThis.history.replaceState(null, "", hash);
  } catch {
    // an address that cannot be written
  }
}
