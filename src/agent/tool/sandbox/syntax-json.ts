import type { SyntaxProblem } from "./syntax.js";

/** Where a text stops being JSON, or undefined. `loose` allows comments and a trailing comma. Any depth. */
export function jsonProblem(text: string, loose = false): SyntaxProblem | undefined {
  let at = text.startsWith("\ufeff") ? 1 : 0;
  /** The brackets that close what is open, innermost last. */
  const open: ("}" | "]")[] = [];
  const fail = (message: string, place = at): SyntaxProblem => problemAt(text, place, message);
  let expects: "value" | "key" | "after" = "value";
  /** Whether the bracket may close in place of an item: right behind the other one, or behind a comma if loose. */
  let mayClose = false;
  for (;;) {
    at = afterSpace(text, at, loose);
    if (at < 0) return fail("a comment is not closed", text.length);
    const character = text[at];
    const close = open.at(-1);
    if (character === undefined) {
      if (close !== undefined) return fail(`"${close === "}" ? "{" : "["}" is not closed`);
      return expects === "after" ? undefined : fail("a value is missing");
    }
    if (character === close && (expects === "after" || mayClose)) {
      open.pop();
      expects = "after";
      at += 1;
    } else if (expects === "after") {
      if (close === undefined) return fail("something follows the end");
      if (character !== ",") return fail(`"," or "${close}" is missing`);
      expects = close === "}" ? "key" : "value";
      mayClose = loose;
      at += 1;
    } else if (character === '"') {
      const end = endOfString(text, at);
      if (typeof end !== "number") return fail(end.message, end.place);
      at = end;
      if (expects === "key") {
        const colon = afterSpace(text, end, loose);
        if (text[colon] !== ":") return fail('":" is missing', colon < 0 ? text.length : colon);
        at = colon + 1;
      }
      expects = expects === "key" ? "value" : "after";
      mayClose = false;
    } else if (expects === "key") return fail("a name in double quotes is missing");
    else if (character === "{" || character === "[") {
      open.push(character === "{" ? "}" : "]");
      expects = character === "{" ? "key" : "value";
      mayClose = true;
      at += 1;
    } else {
      WORD.lastIndex = at;
      const word = WORD.exec(text)?.[0];
      if (word === undefined) return fail("this is not a value");
      at += word.length;
      expects = "after";
    }
  }
}

const WORD = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;

function afterSpace(text: string, from: number, loose: boolean): number {
  let at = from;
  for (;;) {
    while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at += 1;
    if (!loose || text[at] !== "/") return at;
    if (text[at + 1] === "/") {
      const end = text.indexOf("\n", at);
      at = end < 0 ? text.length : end;
    } else if (text[at + 1] === "*") {
      const end = text.indexOf("*/", at + 2);
      if (end < 0) return -1;
      at = end + 2;
    } else return at;
  }
}

function endOfString(
  text: string,
  from: number,
): number | { readonly message: string; readonly place: number } {
  for (let at = from + 1; at < text.length; at++) {
    const character = text[at] as string;
    if (character === '"') return at + 1;
    if (character < " ") return { message: "a text is not closed on its line", place: from };
    if (character !== "\\") continue;
    at += 1;
    const sign = text[at] ?? "";
    if (sign === "u") {
      if (!/^[0-9a-fA-F]{4}$/.test(text.slice(at + 1, at + 5)))
        return { message: "four hex digits must follow \\u", place: at - 1 };
      at += 4;
    } else if (!'"\\/bfnrt'.includes(sign) || sign === "")
      return { message: "this escape does not exist", place: at - 1 };
  }
  return { message: "a text is not closed", place: from };
}

function problemAt(text: string, place: number, message: string): SyntaxProblem {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf("\n"); end >= 0 && end < place; end = text.indexOf("\n", end + 1)) {
    line += 1;
    start = end + 1;
  }
  return { line, column: place - start + 1, message };
}
