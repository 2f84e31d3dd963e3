// Tokens as people write them: `display` of bertlens/text/tokenizer.py.

/** GPT-2's alphabet: printable bytes stand for themselves, the others for characters from U+0100 on, in order. */
const BYTES = new Map<string, number>();
for (let byte = 0, others = 0; byte < 256; byte++) {
  const isPrintable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  BYTES.set(String.fromCharCode(isPrintable ? byte : 0x100 + others++), byte);
}
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The marks "Ġ", "▁" and "</w>" are cut, "##" stays, a bare space is "␣", part of a character its bytes. */
export function shownAs(token: string, isByteLevel: boolean): string {
  if (isByteLevel && [...token].every((letter) => BYTES.has(letter))) {
    const bytes = Uint8Array.from(token, (letter) => BYTES.get(letter)!);
    try {
      return strict.decode(bytes).replace(/^ /, "") || "␣";
    } catch {
      return [...bytes].map((byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`).join("");
    }
  }
  return token.replace(/<\/w>$/, "").replace(/^[Ġ▁]/, "") || "␣";
}
