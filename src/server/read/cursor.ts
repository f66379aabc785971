import { RequestError } from "../../connect/front/index.js";
import { isObject, parseJson } from "../../util/index.js";
import type { Call } from "../call.js";

type Operation = (call: Call) => unknown;

/**
 * A list whose cursors say which list they are of: one of another list is refused, and does not begin somewhere in this one.
 */
export function paged(name: string, list: Operation): Operation {
  return async (call) => {
    const { after, ...query } = call.query as { readonly after?: string };
    const of = [name, ...Object.values(call.path)].join(" ");
    const place = after === undefined ? {} : { after: placeIn(after, of) };
    const answer = await list({ ...call, query: { ...query, ...place } } as Call);
    if (!isObject(answer) || answer instanceof Response) return answer;
    const cursors = ["next", "previous"].flatMap((way) =>
      typeof answer[way] === "string" ? [[way, cursorOf(of, answer[way])] as const] : [],
    );
    return { ...answer, ...Object.fromEntries(cursors) };
  };
}

function cursorOf(list: string, place: string): string {
  return Buffer.from(JSON.stringify([list, place])).toString("base64url");
}

function placeIn(cursor: string, list: string): string {
  const found = parseJson(Buffer.from(cursor, "base64url").toString("utf8"));
  if (Array.isArray(found) && found.length === 2 && found[0] === list && typeof found[1] === "string")
    return found[1];
  throw new RequestError(400, "cursor-refused", "This cursor belongs to another list.", {
    hint: "use `next` of the previous page, with the same path and filter; or leave `after` out",
  });
}
