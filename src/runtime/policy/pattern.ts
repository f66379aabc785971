/**
 * Whether a text fits a pattern with wildcards: `*` stands for anything, in a path for anything but "/", where `**` stands
 * for anything. All places where a part may end are looked at side by side, so no text takes long.
 */
export function fitsPattern(pattern: string, text: string, isPath = false): boolean {
  // The places in the text where the parts so far may end.
  let ends: readonly boolean[] = Array.from({ length: text.length + 1 }, (_, place) => place === 0);
  for (const part of pattern.split(/(\*\*\/?|\*)/)) {
    if (part === "") continue;
    ends = after(part === "*" && !isPath ? "**" : part, text, ends);
    if (!ends.includes(true)) return false;
  }
  return ends[text.length] === true;
}

function after(part: string, text: string, ends: readonly boolean[]): readonly boolean[] {
  // Whether what a wildcard stands for may go on to this place.
  let goesOn = false;
  return ends.map((isEnd, place) => {
    switch (part) {
      case "**":
        goesOn ||= isEnd;
        return goesOn;
      case "**/": {
        const isHere = isEnd || (goesOn && text[place - 1] === "/");
        goesOn ||= isEnd;
        return isHere;
      }
      case "*":
        goesOn = isEnd || (goesOn && text[place - 1] !== "/");
        return goesOn;
      default:
        return (
          place >= part.length &&
          ends[place - part.length] === true &&
          text.startsWith(part, place - part.length)
        );
    }
  });
}
