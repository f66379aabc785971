import type { Json } from "../../../session/index.js";
import { type Fields, fieldsOf } from "../fields.js";

/** Stands where a secret was. */
export const LEFT_OUT = "[left out: it may be a secret]";

const SECRET = /auth|cookie|token|secret|key|signature|credential|password|session/i;

/** Headers without the values of those that may hold secrets. */
export function safeHeaders(headers: Json | undefined, left: () => void): Fields {
  return Object.fromEntries(
    Object.entries(fieldsOf(headers)).map(([name, value]) => {
      if (!SECRET.test(name)) return [name, value];
      left();
      return [name, LEFT_OUT];
    }),
  );
}

/** An address without the values of parameters that may hold secrets, and without a user or a password. */
export function safeAddress(text: string, left: () => void): string {
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  const names = [...url.searchParams.keys()].filter((name) =>
    /^(sig|key)$|api[-_]?key|token|secret|auth|signature/i.test(name),
  );
  if (names.length === 0 && url.username === "" && url.password === "") return text;
  left();
  for (const name of names) url.searchParams.set(name, LEFT_OUT);
  url.username = "";
  url.password = "";
  return url.href;
}
