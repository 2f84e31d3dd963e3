// A state in the address of a page: a link carries it.
type Fields = Record<string, unknown>;

export const MARK = "#bertlens=";

/** What is read of the state in an address; null where there is none, or it cannot be read. */
export function stateIn<T = Fields>(hash: string, read = (state: Fields) => state as T): T | null {
  try {
    return hash.startsWith(MARK) ? read(JSON.parse(decodeURIComponent(hash.slice(MARK.length)))) : null;
  } catch {
    return null;
  }
}
