import { VERSION } from "../../session/index.js";
import { fieldsOf, parametersOf, type Route } from "../contract/route.js";
import { routes } from "../contract/routes.js";
import type { JsonSchema } from "../contract/schema.js";

/** The interface as OpenAPI 3.1, made of the schemas that requests are checked by. */
export function openApi() {
  const components: { [title: string]: JsonSchema } = { Problem: PROBLEM };
  const paths: { [path: string]: { [method: string]: object } } = {};
  for (const [name, route] of Object.entries(routes) as [string, Route][])
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operationOf(name, route, components),
    };
  return {
    openapi: "3.1.0",
    info: {
      title: "OpenRath",
      version: VERSION,
      summary: "Sessions of agent systems: their record, and what people do about them",
      license: { name: "MIT", identifier: "MIT" },
    },
    paths,
    ...{
      servers: [{ url: "/" }],
      security: [{ bearer: [] }, { cookie: [] }],
      components: {
        schemas: components,
        securitySchemes: {
          bearer: {
            type: "http",
            scheme: "bearer",
            description: "a token of rath user add, or of OpenID Connect",
          },
          cookie: { type: "apiKey", in: "cookie", name: "rath", description: "after POST /api/start" },
        },
      },
    },
  };
}

const PROBLEM: JsonSchema = {
  description: "RFC 9457",
  type: "object",
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
    code: { type: "string", description: "docs/errors.md" },
    hint: { type: "string", description: "what to do" },
    data: {},
  },
  required: ["type", "title", "status", "detail", "code"],
};

type Components = { [title: string]: JsonSchema };

function operationOf(name: string, route: Route, components: Components): object {
  const { summary, role, query, body, answer } = route;
  const required = (query?.json.required ?? []) as readonly string[];
  const parameters = [
    ...parametersOf(route.path).map((one) => ({
      name: one,
      in: "path",
      required: true,
      schema: { type: "string" },
    })),
    ...Object.entries(fieldsOf(query)).map(([one, { description, ...schema }]) => ({
      name: one,
      in: "query",
      required: required.includes(one),
      ...(description !== undefined && { description }),
      schema,
    })),
  ];
  const media = "media" in answer ? answer.media : "application/json";
  const schema = "media" in answer ? {} : named(answer.json, components);
  return {
    operationId: name,
    summary,
    ...(role !== "anyone" && { description: whoOf(role) }),
    ...(role === "anyone" && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content: { "application/json": { schema: named(body.json, components) } },
      },
    }),
    responses: {
      "200": { description: "The answer", content: { [media]: { schema } } },
      default: {
        description: "A refusal",
        content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
  };
}

function whoOf(role: Route["role"]): string {
  return role === "member"
    ? "For everybody with an identity: the answer holds what their roles allow."
    : `Needs the role "${role}" for the session.`;
}

/** A schema whose titled parts are components, each once. */
function named(schema: unknown, components: Components): unknown {
  if (Array.isArray(schema)) return schema.map((one) => named(one, components));
  if (typeof schema !== "object" || schema === null) return schema;
  const fields = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, named(value, components)]),
  ) as JsonSchema;
  const { title } = schema as { readonly title?: unknown };
  if (typeof title !== "string") return fields;
  components[title] = fields;
  return { $ref: `#/components/schemas/${title}` };
}
