import { RequestError } from "../../connect/front/index.js";
import { jsonValidator } from "../../runtime/index.js";
import { clip } from "../../util/index.js";
import { fieldsOf } from "../contract/route.js";
import type { Schema } from "../contract/schema.js";

/** Checks a part of a request by its schema; refuses it with the places that do not fit. */
export function checkerOf(schema: Schema<object> | undefined, part: "query" | "body") {
  let validator: ReturnType<typeof jsonValidator> | undefined;
  return async (value: unknown): Promise<object> => {
    if (schema === undefined) {
      if (Object.keys(Object(value)).length === 0) return {};
      throw refused(part, [{ place: "#", problem: `this operation takes no ${part}` }]);
    }
    const fields = fieldsOf(schema);
    const unknown = Object.keys(Object(value)).find((name) => !Object.hasOwn(fields, name));
    if (unknown !== undefined) {
      const problem = `is not one of its fields: ${Object.keys(fields).join(", ")}`;
      throw refused(part, [{ place: `#/${clip(unknown, 200)}`, problem }]);
    }
    validator ??= jsonValidator(schema.json);
    const { valid, errors } = (await validator).validate(value);
    if (valid) return value as object;
    // An error of an object comes with those of its fields, which say more.
    const problems = errors.map(({ instanceLocation, error }) => ({
      place: clip(instanceLocation, 200),
      problem: clip(error, 200),
    }));
    throw refused(part, problems.slice(-5));
  };
}

function refused(part: string, problems: readonly { place: string; problem: string }[]): RequestError {
  const last = problems.at(-1);
  return new RequestError(
    400,
    "request-refused",
    `The ${part} of the request is not valid: ${last?.place} ${last?.problem}`,
    {
      hint: "see the schema: GET /openapi.json",
      data: { part, problems },
    },
  );
}
