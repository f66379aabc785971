const ESCAPES = new Map([
  [0x07, "\\a"],
  [0x08, "\\b"],
  [0x09, "\\t"],
  [0x0a, "\\n"],
  [0x0b, "\\v"],
  [0x0c, "\\f"],
  [0x0d, "\\r"],
  [0x22, '\\"'],
  [0x5c, "\\\\"],
]);
const UNESCAPES = new Map([...ESCAPES].map(([byte, text]) => [text[1], byte]));

/** A name as git writes it: plain where it can be, else in quotes, with what is not printable ASCII as escapes. */
export function quoted(name: Uint8Array, { always = false } = {}): string {
  let text = "";
  let isPlain = !always;
  for (const byte of name) {
    const escaped =
      ESCAPES.get(byte) ??
      (byte < 0x20 || byte >= 0x7f ? `\\${byte.toString(8).padStart(3, "0")}` : undefined);
    isPlain &&= escaped === undefined;
    text += escaped ?? String.fromCharCode(byte);
  }
  return isPlain ? text : `"${text}"`;
}

/** Reads a name in quotes from the start of a text; undefined when there is none. */
export function unquoted(text: string): { readonly name: Buffer; readonly rest: string } | undefined {
  if (!text.startsWith('"')) return undefined;
  const bytes: number[] = [];
  for (let at = 1; at < text.length; at++) {
    const character = text[at] as string;
    if (character === '"') return { name: Buffer.from(bytes), rest: text.slice(at + 1) };
    if (character !== "\\") {
      bytes.push(text.charCodeAt(at));
      continue;
    }
    const octal = /^[0-3][0-7]{2}/.exec(text.slice(at + 1, at + 4))?.[0];
    const byte = octal === undefined ? UNESCAPES.get(text[at + 1]) : Number.parseInt(octal, 8);
    if (byte === undefined) return undefined;
    bytes.push(byte);
    at += octal?.length ?? 1;
  }
  return undefined;
}
