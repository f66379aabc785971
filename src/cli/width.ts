/** Columns that a text takes on a terminal: colours and combining characters take none, wide characters two. */
export function width(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let columns = 0;
  for (const sign of text.replace(COLOURS, "")) columns += signWidth(sign);
  return columns;
}

/** The text with spaces up to a number of columns. */
export function pad(text: string, columns: number): string {
  return `${text}${" ".repeat(Math.max(0, columns - width(text)))}`;
}

/** The text cut to a number of columns; one that is cut ends with "…" and keeps its colours closed. */
export function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let fitted = "";
  let used = 0;
  let isCut = false;
  for (const [piece] of text.matchAll(PIECES)) {
    const next = piece.startsWith("\u001b") ? 0 : signWidth(piece);
    if (piece.startsWith("\u001b")) fitted += piece;
    else if (!isCut && used + next < columns) {
      fitted += piece;
      used += next;
    } else if (!isCut) {
      fitted += columns > 0 ? "…" : "";
      isCut = true;
    }
  }
  return fitted;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the command writes colours itself; in words of others they are escaped.
const COLOURS = /\u001b\[[\d;]*m/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const PIECES = /\u001b\[[\d;]*m|./gsu;

const NONE = /[\p{Mn}\p{Me}\u1160-\u11ff\u200b]/u;
/** East Asian wide and full-width characters, and emoji that are shown as pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f300}-\u{1f64f}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]|(?!\p{Regional_Indicator})\p{Emoji_Presentation}/u;

function signWidth(sign: string): number {
  return NONE.test(sign) ? 0 : WIDE.test(sign) ? 2 : 1;
}
