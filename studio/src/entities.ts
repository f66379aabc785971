/**
 * Named character references of Markdown. The package that this file stands in for asks the browser through `innerHTML`, which the policy
 * of the page refuses. A name that is not in this list is shown as it was written.
 */
const CHARACTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    nbsp: "\u00a0",
    copy: "©",
    reg: "®",
    trade: "™",
    deg: "°",
    plusmn: "±",
    times: "×",
    divide: "÷",
    micro: "µ",
    middot: "·",
    sect: "§",
    para: "¶",
    euro: "€",
    pound: "£",
    cent: "¢",
    yen: "¥",
    hellip: "…",
    ndash: "–",
    mdash: "—",
    lsquo: "‘",
    rsquo: "’",
    ldquo: "“",
    rdquo: "”",
    laquo: "«",
    raquo: "»",
    bull: "•",
    larr: "←",
    rarr: "→",
    uarr: "↑",
    darr: "↓",
    harr: "↔",
    le: "≤",
    ge: "≥",
    ne: "≠",
    infin: "∞",
  }),
);

export function decodeNamedCharacterReference(name: string): string | false {
  return CHARACTERS.get(name) ?? false;
}
