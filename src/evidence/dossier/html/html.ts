/** Markup that was made here. Everything else is text, and is escaped when it is put into markup. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Piece = Html | string | number | undefined | false | readonly Piece[];

/** Markup from a template. Values are escaped unless they are markup: the only way onto the page. */
export function html(literals: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  let text = literals[0] as string;
  pieces.forEach((piece, place) => {
    text += written(piece) + (literals[place + 1] as string);
  });
  return new Html(text);
}

function written(piece: Piece): string {
  if (piece === undefined || piece === false) return "";
  if (piece instanceof Html) return piece.text;
  return Array.isArray(piece) ? piece.map(written).join("") : escaped(String(piece));
}

const ENTITIES: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;",
  "=": "&#61;",
};

// Besides what markup is made of: controls, which move terminals and vanish in pages; marks that turn the direction of
// text around or have no width, with which a line says something else than it seems to; halves of characters; noncharacters.
const UNSAFE =
  /[&<>"'`=]|(?!\t|\n)\p{Cc}|(?!\u200c|\u200d|\ufe0f)\p{Default_Ignorable_Code_Point}|[\ufff9-\ufffb]|\p{Noncharacter_Code_Point}|\p{Zl}|\p{Zp}|\p{Cs}/gu;

/** Text as it may stand in markup and in attributes. Invisible characters are made visible. */
export function escaped(text: string): string {
  return text.replace(
    UNSAFE,
    (character) => ENTITIES[character] ?? visible(character.codePointAt(0) as number),
  );
}

/** Whether a text stands on the page exactly as it is, so that it can be copied from there. */
export function isExact(text: string): boolean {
  return [...text.matchAll(UNSAFE)].every(([character]) => Object.hasOwn(ENTITIES, character));
}

function visible(code: number): string {
  // There are pictures of the old controls; everything else is named.
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `\u27e6U+${code.toString(16).toUpperCase().padStart(4, "0")}\u27e7`;
}
