import { Refusal } from "./files.js";

export type Body = { readonly [name: string]: unknown };
export type Asked = {
  readonly user: string;
  readonly query: URLSearchParams;
  readonly body: Body;
  /** What stands in the path where the route has a group. */
  readonly ids: readonly string[];
};
export type Route = (asked: Asked) => unknown;
export type Routed = readonly [method: string, path: RegExp, route: Route];

export function text(value: unknown): string {
  if (typeof value !== "string") throw new Refusal("INVALID_ARGUMENT", 400, "a text is missing");
  return value;
}
