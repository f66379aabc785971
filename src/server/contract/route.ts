import type { Schema, ValueOf } from "./schema.js";

/** The roles of people. Each one includes "view" of the same names. */
export const ROLES = ["view", "run", "approve", "audit", "erase"] as const;
export type Role = (typeof ROLES)[number];

/** One operation of the server. */
export type Route = {
  readonly method: "GET" | "POST" | "DELETE";
  /** A path with `{parameters}`, as in OpenAPI. `{name}` is a session, and the role is needed for it. */
  readonly path: string;
  readonly summary: string;
  /** "anyone": no identity is needed. "member": any identity; the answer holds what its roles allow. */
  readonly role: Role | "anyone" | "member";
  readonly query?: Schema<object>;
  readonly body?: Schema<object>;
  readonly answer: Schema<unknown> | Media;
};

/** An answer that is not one JSON document, by its media type. */
export type Media = { readonly media: "text/event-stream" | "application/x-ndjson" | "*/*" };

type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;
export type PathOf<Given extends Route> = { readonly [Name in ParameterOf<Given["path"]>]: string };
type PartOf<Given extends Route, Part extends "query" | "body"> = Given extends {
  readonly [Key in Part]: infer Shape;
}
  ? ValueOf<Shape>
  : unknown;
export type QueryOf<Given extends Route> = PartOf<Given, "query">;
export type BodyOf<Given extends Route> = PartOf<Given, "body">;
/** All that a caller gives: parameters of the path, of the query and fields of the body. */
export type InputOf<Given extends Route> = PathOf<Given> & QueryOf<Given> & BodyOf<Given>;
export type AnswerOf<Given extends Route> = Given["answer"] extends Media
  ? Response
  : ValueOf<Given["answer"]>;

/** Keeps the literal types of a route. */
export function route<const Given extends Route>(given: Given): Given {
  return given;
}

/** The names in `{}` of a path. */
export function parametersOf(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string);
}

/** The fields of an object schema, by name. */
export function fieldsOf(schema: Schema<object> | undefined): {
  readonly [name: string]: Field;
} {
  return (schema?.json.properties ?? {}) as { readonly [name: string]: Field };
}

type Field = { readonly type?: string; readonly description?: string };
